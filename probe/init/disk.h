/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The working file system of the guest.
 */
#ifndef LSMETER_INIT_DISK_H
#define LSMETER_INIT_DISK_H

#include <stdbool.h>

/* Does this file system need no disk? */
bool disk_none(const char *filesystem);

/*
 * Put what the image /fs.img holds on the disk, unless that is done or `filesystem` needs none.
 * The image lies in the initramfs: out of reach once the guest has another root.
 * On failure returns what failed, with errno; NULL otherwise.
 */
const char *disk_fill(const char *filesystem);

/*
 * Mount a file system of this type at `where`: tmpfs, overlay upon a tmpfs, or the disk:
 * that of null_blk, whose requests take time, or of brd.
 * Returns as disk_fill.
 */
const char *disk_mount(const char *filesystem, const char *where);

/*
 * Write back all that lies in memory, and in the journal, of a file system that disk_mount() put
 * at `where`. syncfs() leaves the journal of xfs, which a worker empties 30 s later.
 */
void disk_flush(const char *filesystem, const char *where);

#endif
