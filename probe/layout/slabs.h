/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slabs as they are in a kernel that has been up for a while.
 *
 * Whether a slab that became empty is given back, and the next one taken from the pages again,
 * depends on how many slabs of its cache are partly in use. In a guest that has just started they
 * are few, and what it allocated before decides: the whole cost of making an inode was 0.7 % more
 * in one boot than in the next. Where many slabs are half full none is ever empty.
 */
#ifndef LSMETER_LAYOUT_SLABS_H
#define LSMETER_LAYOUT_SLABS_H

/*
 * Leave the slabs of inodes and directory entries half full for as long as the guest runs: files in
 * `directory`, which is made, with every other one removed. Returns 0 or -errno.
 */
int slabs_wear(const char *directory);

/*
 * Take some more inodes, directory entries and nodes of a directory's tree than before, for good,
 * so that slabs with few free ones are used up. Where the last free object of a slab is taken and
 * given back in turn, each cycle goes the slow way (maple nodes of Linux 6.12: 276 instructions in
 * every mkdir() of one boot and none in the next).
 */
void slabs_turn(void);

#endif
