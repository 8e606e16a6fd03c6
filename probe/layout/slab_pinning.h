/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that holds, for as long as the guest runs, what is not to be met by a benchmark in
 * one boot and not in another. It is another one than who measures, since who makes a process pays
 * for each of its own descriptors and pages.
 */
#ifndef LSMETER_LAYOUT_SLAB_PINNING_H
#define LSMETER_LAYOUT_SLAB_PINNING_H

/* What is held: pages and path names always, and what is measured by. */
enum pinning { PINNING_NAMES, PINNING_DATAGRAMS, PINNING_SOCKETS };

/* How many of each are held, or -errno. */
struct pinned {
	int names;
	int datagrams;
	int sockets;
	int pages;
};

/* Start it, and wait until it holds all. */
struct pinned slab_pinning_start(enum pinning pinning);

/*
 * Make processes of this one's memory that are all there at once, and let them end: the trees in
 * which the kernel keeps who has copies of a page take the shape that they have from then on.
 */
void page_owners_settle(void);

#endif
