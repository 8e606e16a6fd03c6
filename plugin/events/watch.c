// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch.h"

static struct {
	struct events *events;
	unsigned int counter;
} watched;

void watch_events(struct events *events, unsigned int counter)
{
	watched.events = events;
	watched.counter = counter;
}

static void on_block(unsigned int vcpu, void *block)
{
	(void)vcpu;
	events_enter(watched.events, block, counter_now(watched.counter));
}

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *insn)
{
	(void)vcpu;
	events_access(watched.events, insn, vaddr, 1u << qemu_plugin_mem_size_shift(info),
		      qemu_plugin_mem_is_store(info), counter_now(watched.counter));
}

void watch_access(struct qemu_plugin_insn *insn, const struct event_block *block, size_t index)
{
	if (!block->insns[index].silent)
		qemu_plugin_register_vcpu_mem_cb(insn, on_access, CB_NO_REGS, MEM_READ_AND_WRITE,
						 (void *)&block->insns[index]);
}

void watch_block(struct qemu_plugin_insn *insn, const struct event_block *block)
{
	qemu_plugin_register_vcpu_insn_exec_cb(insn, on_block, CB_NO_REGS, (void *)block);
}
