/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What system calls return, read from the guest's memory as QEMU has it. */
#ifndef LSMETER_RESULTS_H
#define LSMETER_RESULTS_H

#include "qemu_api.h"
#include "symbols.h"

#include <stddef.h>
#include <stdint.h>

/* How much memory the kernel is in, from physical address 0 on; 0: nothing of it is read. */
void results_memory(uint64_t bytes);

/*
 * Watch the instructions that store ax of a system call's struct pt_regs: push $-ENOSYS at its
 * entry, and mov %rax,0x50(REGISTER) with its result.
 */
void results_watch(struct qemu_plugin_insn *insn, const uint8_t *bytes, size_t size,
		   const struct symbol *symbol);

#endif
