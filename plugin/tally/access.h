/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How an instruction is watched: that it is executed, or what it accesses. */
#ifndef LSMETER_ACCESS_H
#define LSMETER_ACCESS_H

#include "qemu_api.h"

#include <stdbool.h>
#include <stdint.h>

/* Another instruction is translated; then: does it have a callback by now? */
void access_begin(void);
bool access_called(void);

/* Call back before the instruction is executed. */
void call_at(struct qemu_plugin_insn *insn, exec_cb callback, uintptr_t data);

/* Call back once it has accessed memory: the first access is the one for which disarm() is true. */
void watch_access(struct qemu_plugin_insn *insn, mem_cb callback, uint64_t data);
bool disarm(void);

#endif
