// SPDX-License-Identifier: GPL-2.0-or-later
#include "access.h"

static struct {
	bool armed;  /* the instruction that runs is one whose access is watched */
	bool called; /* the instruction that is translated has a callback */
} access;

/* A callback stays in force after its instruction up to QEMU 7.2: only the first access counts. */
static void on_armed(unsigned int vcpu, void *data)
{
	(void)vcpu, (void)data;
	access.armed = true;
}

bool disarm(void)
{
	bool armed = access.armed;

	access.armed = false;
	return armed;
}

void call_at(struct qemu_plugin_insn *insn, exec_cb callback, uintptr_t data)
{
	qemu_plugin_register_vcpu_insn_exec_cb(insn, callback, CB_NO_REGS, (void *)data);
	access.called = true;
}

void watch_access(struct qemu_plugin_insn *insn, mem_cb callback, uint64_t data)
{
	call_at(insn, on_armed, 0);
	qemu_plugin_register_vcpu_mem_cb(insn, callback, CB_NO_REGS, MEM_READ_AND_WRITE,
					 (void *)(uintptr_t)data);
}

void access_begin(void)
{
	access.called = false;
}

bool access_called(void)
{
	return access.called;
}
