/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads of the kernel. */
#ifndef LSMETER_INIT_THREAD_H
#define LSMETER_INIT_THREAD_H

/*
 * Let the kernel's thread of this name run only while nothing else can. Returns NULL, or what
 * went wrong, with errno.
 */
const char *thread_to_background(const char *name);

#endif
