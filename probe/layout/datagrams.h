/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets and what they send, so that nothing is in use that lies in a slab's first page
 * (allocation_layout.h). */
#ifndef LSMETER_LAYOUT_DATAGRAMS_H
#define LSMETER_LAYOUT_DATAGRAMS_H

#include "layout/allocation_layout.h"

#define DATAGRAM_FAMILIES 2
#define DATAGRAM_SIZES	  5

/* By family: one pair to measure with, and those that hold. */
struct datagram_pairs {
	int own[DATAGRAM_FAMILIES][2];
	int pair[DATAGRAM_FAMILIES][DATAGRAM_SIZES][MOST_OBJECTS][2];
};

/*
 * Open the sockets for them, before any is held: sockets are made of such objects themselves. The
 * caller keeps them. 0 or -errno.
 */
int datagrams_open(struct datagram_pairs *pairs);

/*
 * Hold what datagrams of several sizes keep their bytes in, which are the kernel's objects of half
 * a KiB to 8 KiB for any purpose. Returns how many, or -errno.
 */
int datagrams_pin(const struct datagram_pairs *pairs);

/* The same of sockets of each kind. */
int sockets_pin(void);

#endif
