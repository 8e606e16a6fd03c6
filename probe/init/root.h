/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The root file system of an image on the guest's disk, where a setup needs one.
 */
#ifndef LSMETER_INIT_ROOT_H
#define LSMETER_INIT_ROOT_H

/*
 * Make the first disk, which holds a `filesystem`, the root, with what is mounted now and the
 * setup's own files (/setup) inside it. Returns NULL, or what failed, with errno.
 */
const char *root_enter(const char *filesystem);

#endif
