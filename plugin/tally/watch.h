/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the kernel's code says that something else runs from now on: another task, an interrupt, a
 * system call, a hook.
 */
#ifndef LSMETER_WATCH_H
#define LSMETER_WATCH_H

#include "qemu_api.h"

#include <stdbool.h>

/* Where SELinux counts, relative to a processor's data; 0: nowhere that is known. */
void watch_avc(uint64_t stats);

/* Have an instruction of user space tell whether it makes a system call; false: nothing. */
bool watch_user(struct qemu_plugin_insn *insn, const uint8_t *bytes, size_t size);

/* Have an instruction of the kernel tell accounts.h what it begins or ends; false: nothing. */
bool watch_kernel(struct qemu_plugin_insn *insn, const uint8_t *bytes, size_t size);

#endif
