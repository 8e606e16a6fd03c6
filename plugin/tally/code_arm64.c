// SPDX-License-Identifier: GPL-2.0-or-later
/* Arm Architecture Reference Manual, C4.1: branches, moves, loads and stores. */
#include "code.h"

#include <string.h>

/* Memory begins here, and 2 MiB on the kernel does, which is mapped by 2 MiB (board virt). */
#define MEMORY	   0x40000000
#define IMAGE	   0x200000
#define IMAGE_MASK (~(uint64_t)(IMAGE - 1))

#define ZERO_OR_SP 31

static uint32_t word(const uint8_t *bytes)
{
	uint32_t insn;

	memcpy(&insn, bytes, sizeof(insn));
	return insn;
}

static uint32_t bits(uint32_t insn, unsigned int low, unsigned int count)
{
	return insn >> low & ((1u << count) - 1);
}

static uint64_t text_map(uint64_t text_start)
{
	return (text_start & IMAGE_MASK) - IMAGE;
}

/*
 * cpu_switch_to() adds a constant to the addresses of both tasks, and goes on from there. Whatever
 * is translated of it begins before that, as no branch leads into it.
 */
static enum switch_part switches(const uint8_t *bytes, size_t size, uint64_t *offset)
{
	static uint64_t context;
	uint32_t insn = word(bytes);

	(void)size;
	if ((insn & 0xffe0001f) == 0xd280000a) /* mov x10, #CONTEXT */
		context = bits(insn, 5, 16);
	*offset = context;
	if (insn == 0xa8815113) /* stp x19, x20, [x8], #16 */
		return SWITCH_SAVE;
	return insn == 0xa8c15113 ? SWITCH_LOAD : SWITCH_NONE; /* ldp */
}

static uint64_t target(const uint8_t *bytes, size_t size, uint64_t vaddr, bool call)
{
	uint32_t insn = word(bytes);

	(void)size;
	if ((insn & 0xfc000000) != (call ? 0x94000000 : 0x14000000)) /* bl, b */
		return 0;
	return vaddr + (uint64_t)((int64_t)((uint64_t)insn << 38) >> 36);
}

static bool stores(const uint8_t *bytes, unsigned int displacement, bool zero, uint64_t *early)
{
	uint32_t insn = word(bytes), source = bits(insn, 0, 5);

	*early = 0;
	if (bits(insn, 5, 5) == ZERO_OR_SP)
		return false;
	if ((insn & 0xffc00000) == 0xf9000000 && bits(insn, 10, 12) * 8 == displacement) /* str */
		return zero == (source == ZERO_OR_SP);
	if ((insn & 0xffc00000) != 0xa9000000) /* stp */
		return false;
	if (bits(insn, 15, 7) * 8 + 8 == displacement) {
		*early = 8;
		source = bits(insn, 10, 5);
	} else if (bits(insn, 15, 7) * 8 != displacement) {
		return false;
	}
	return zero == (source == ZERO_OR_SP);
}

static enum result_part result(const uint8_t *bytes, size_t size)
{
	uint32_t insn = word(bytes);

	(void)size;
	if ((insn & 0xffc003ff) == 0xb90003f5) /* str w21, [sp, #...]: NO_SYSCALL */
		return RESULT_UNKNOWN;
	return (insn & 0xfffffc1f) == 0xf9000000 ? RESULT_STORED : RESULT_NONE; /* str x0, [...] */
}

/* ldadd, or what it is without LSE: stxr at the end of a loop. */
static bool increments(const uint8_t *bytes)
{
	uint32_t insn = word(bytes);

	return (insn & 0xff20fc00) == 0xb8200000 || (insn & 0xffe0fc00) == 0x88007c00;
}

const struct code code_arm64 = {
	.call = "__arm64_sys_",
	.result_stored = "invoke_syscall",
	.unknown = -1,
	.unknown_bytes = sizeof(int32_t),
	.text_map = text_map,
	.memory = MEMORY,
	.switches = switches,
	.target = target,
	.stores = stores,
	.result = result,
	.increments = increments,
};
