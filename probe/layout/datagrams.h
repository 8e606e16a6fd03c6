/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets and what they send, so that nothing is in use that lies in a slab's first page
 * (allocation_layout.h). */
#ifndef LSMETER_LAYOUT_DATAGRAMS_H
#define LSMETER_LAYOUT_DATAGRAMS_H

/*
 * Open the sockets for them, before any is held: sockets are made of such objects themselves. The
 * caller keeps them. 0 or -errno.
 */
int datagrams_open(void);

/*
 * Hold what datagrams of several sizes keep their bytes in, which are the kernel's objects of half
 * a KiB to 8 KiB for any purpose. Returns how many, or -errno.
 */
int datagrams_pin(void);

/* The same of sockets of each kind. */
int sockets_pin(void);

#endif
