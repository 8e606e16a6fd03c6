// SPDX-License-Identifier: GPL-2.0-or-later
/* What differs between the versions of QEMU's plugin interface, behind one face. */
#include "qemu_api.h"

#include <string.h>

PLUGIN_EXPORT int qemu_plugin_version = LSMETER_PLUGIN_API;

#if LSMETER_PLUGIN_API == 1

static uint64_t counter;

void counter_init(void)
{
	counter = 0;
}

void counter_count(struct qemu_plugin_insn *insn)
{
	qemu_plugin_register_vcpu_insn_exec_inline(insn, INLINE_ADD_U64, &counter, 1);
}

uint64_t counter_now(void)
{
	return counter;
}

#else

static qemu_plugin_u64 counter;

void counter_init(void)
{
	counter.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	counter.offset = 0;
}

void counter_count(struct qemu_plugin_insn *insn)
{
	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, INLINE_ADD_U64, counter, 1);
}

/* Looked up each time: QEMU may move the scoreboard when a virtual CPU is added. */
uint64_t counter_now(void)
{
	return *(const uint64_t *)qemu_plugin_scoreboard_find(counter.score, 0);
}

#endif

size_t insn_bytes(struct qemu_plugin_insn *insn, uint8_t bytes[MAX_INSN_BYTES])
{
	size_t size = qemu_plugin_insn_size(insn);

	if (size > MAX_INSN_BYTES)
		size = MAX_INSN_BYTES;
#if LSMETER_PLUGIN_API <= 2
	memcpy(bytes, qemu_plugin_insn_data(insn), size);
#else
	size = qemu_plugin_insn_data(insn, bytes, size);
#endif
	return size;
}
