/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the kernel keeps path names.
 *
 * A path name of a system call takes an object of 4 KiB (names_cache) from a slab of several pages.
 * For one in the slab's first page, finding the slab again takes three instructions less, and which
 * object is next in turn depends on all that was allocated before: typical counts would be one
 * number in one boot and another in the next.
 */
#ifndef LSMETER_LAYOUT_PATH_NAMES_H
#define LSMETER_LAYOUT_PATH_NAMES_H

/*
 * Take the objects in first pages out of use for as long as the caller lives: processes that wait
 * in open() of a FIFO hold them, and share its memory. Returns how many are held, or -errno.
 */
int path_names_pin(void);

#endif
