/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The working file system of the guest.
 */
#ifndef LSMETER_DISK_H
#define LSMETER_DISK_H

/*
 * Mount a file system of this type at `where`: tmpfs, or what the image /fs.img holds, put on
 * a RAM disk. On failure returns what failed, with errno; NULL otherwise.
 */
const char *disk_mount(const char *filesystem, const char *where);

#endif
