/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Other objects for the readings of one benchmark.
 *
 * Finding the slab of an object takes two or three instructions less if the object lies in the
 * slab's first page. A benchmark that makes and frees gets the same objects again and again, and
 * which ones depends on all that was allocated before: one number in one boot, another in the next.
 * So another process takes what would be next, every few readings, and the mode is over many
 * objects.
 */
#ifndef LSMETER_SHIFT_H
#define LSMETER_SHIFT_H

#include <stdbool.h>

/*
 * Start the process that keeps what was taken; 0 or -errno. It ends with the caller. With network
 * it takes what sockets of the loopback device are made of as well.
 */
int shift_begin(bool network);

/* Have the next objects taken, of those that processes and sockets are made of. */
void shift_next(void);

/* Give all of them back. */
void shift_end(void);

#endif
