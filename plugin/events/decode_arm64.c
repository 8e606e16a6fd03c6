// SPDX-License-Identifier: GPL-2.0-or-later
/* Arm Architecture Reference Manual, C4.1: instructions by their main groups. */
#include "decode.h"

#include "kinds.h"

#include <string.h>

#define IS(event)   (1u << (event))
#define ZERO_OR_SP  31
#define BARRIER_DSB 4 /* and dmb, isb, sb from there on */

static bool is(uint32_t insn, uint32_t mask, uint32_t value)
{
	return (insn & mask) == value;
}

static uint32_t bits(uint32_t insn, unsigned int low, unsigned int count)
{
	return insn >> low & ((1u << count) - 1);
}

/* The register that a field of five bits names; none for the one that is 0, or the stack. */
static uint32_t reg(uint32_t insn, unsigned int low)
{
	uint32_t number = bits(insn, low, 5);

	return number == ZERO_OR_SP ? 0 : 1u << number;
}

/* Where a jump leads, from the next instruction on, by a field of words. */
static int32_t distance(uint32_t insn, unsigned int count)
{
	int32_t words = (int32_t)(insn << (32 - 5 - count)) >> (32 - count);

	return words * 4 - 4;
}

static void decode_flow(uint32_t insn, struct decoded *to)
{
	static const enum flow registers[16] = {
		[0] = FLOW_INDIRECT_JUMP, [1] = FLOW_INDIRECT_CALL, [2] = FLOW_RETURN,
		[8] = FLOW_INDIRECT_JUMP, [9] = FLOW_INDIRECT_CALL,
	};

	if (is(insn, 0xfc000000, 0x94000000)) {
		to->flow = FLOW_CALL;
	} else if (is(insn, 0xff000000, 0x54000000)) { /* b.cond */
		to->flow = FLOW_BRANCH;
		to->distance = distance(insn, 19);
	} else if (is(insn, 0x7e000000, 0x34000000)) { /* cbz, cbnz */
		to->flow = FLOW_BRANCH;
		to->distance = distance(insn, 19);
		to->operands.reads = reg(insn, 0);
	} else if (is(insn, 0x7e000000, 0x36000000)) { /* tbz, tbnz */
		to->flow = FLOW_BRANCH;
		to->distance = distance(insn, 14);
		to->operands.reads = reg(insn, 0);
	} else if (is(insn, 0xfe1ff000, 0xd61f0000)) {
		to->flow = registers[bits(insn, 21, 4)];
		to->operands.reads = reg(insn, 5);
		if (bits(insn, 21, 4) == 4) /* eret */
			to->kinds |= IS(EV_SERIALISING) | IS(EV_MODE_SWITCHES);
	}
}

static void decode_system(uint32_t insn, struct decoded *to)
{
	uint32_t field = bits(insn, 16, 3) << 3 | bits(insn, 5, 3);

	if (is(insn, 0xffe0001f, 0xd4000001)) /* svc */
		to->kinds |= IS(EV_MODE_SWITCHES);
	else if (is(insn, 0xfffff01f, 0xd503301f) && bits(insn, 5, 3) >= BARRIER_DSB)
		to->kinds |= IS(EV_SERIALISING);
	else if (is(insn, 0xfff8f01f, 0xd500401f) && (field == 036 || field == 037))
		to->kinds |= IS(EV_IF_SWITCHES); /* msr daifset, daifclr */
	else if (is(insn, 0xfff8f01f, 0xd500401f) && field == 004)
		to->kinds |= IS(EV_SMAP_SWITCHES); /* msr pan */
	else if (is(insn, 0xffffffe0, 0xd51b4220))
		to->kinds |= IS(EV_IF_SWITCHES); /* msr daif, a register */
}

/* ldadd and the like, swp, cas, casp; and stores that end a pair of load and store exclusive. */
static bool is_atomic(uint32_t insn)
{
	bool acquires = is(insn, 0x3ffffc00, 0x38bfc000); /* ldapr: a load */

	return (is(insn, 0x3b200c00, 0x38200000) && !acquires) ||
	       is(insn, 0x3fa07c00, 0x08a07c00) || is(insn, 0xbfa07c00, 0x08207c00) ||
	       is(insn, 0x3fe00000, 0x08000000) || is(insn, 0xbfe00000, 0x88200000);
}

static void decode_access(uint32_t insn, struct decoded *to)
{
	struct operands *operands = &to->operands;
	bool vector = bits(insn, 26, 1), pair = is(insn, 0x3a000000, 0x28000000);
	bool one = is(insn, 0x3a000000, 0x38000000);
	bool literal = is(insn, 0x3b000000, 0x18000000);
	bool load = literal || (one ? bits(insn, 22, 2) : bits(insn, 22, 1));
	uint32_t data = (vector ? 0 : reg(insn, 0)) | (pair && !vector ? reg(insn, 10) : 0);

	to->silent = false;
	if (is_atomic(insn)) {
		to->kinds |= IS(EV_LOCKED);
		operands->reads = reg(insn, 5) | reg(insn, 16);
		operands->writes = reg(insn, 0);
		operands->cycles += LOAD_CYCLES;
		return;
	}
	operands->reads = literal ? 0 : reg(insn, 5);
	if (one && is(insn, 0x01200c00, 0x00200800)) /* the offset is a register */
		operands->reads |= reg(insn, 16);
	if (load) {
		operands->writes = data;
		operands->cycles += LOAD_CYCLES;
	} else {
		operands->reads |= data;
	}
}

static void decode_immediate(uint32_t insn, struct operands *to)
{
	uint32_t group = bits(insn, 23, 3), opc = bits(insn, 29, 2);

	to->writes = reg(insn, 0);
	if (group == 5) /* movn, movz, movk */
		to->reads = opc == 3 ? reg(insn, 0) : 0;
	else if (group > 1) /* not adr, adrp */
		to->reads = reg(insn, 5);
	if (group == 6 && opc == 1) /* bfm keeps the other bits */
		to->reads |= reg(insn, 0);
	if (group == 7) /* extr */
		to->reads |= reg(insn, 16);
}

static void decode_register(uint32_t insn, struct decoded *to)
{
	struct operands *operands = &to->operands;
	bool one_source = is(insn, 0x5fe00000, 0x5ac00000);

	operands->reads = reg(insn, 5) | (one_source ? 0 : reg(insn, 16));
	if (!is(insn, 0x1fe00000, 0x1a400000)) /* ccmp, ccmn write flags only */
		operands->writes = reg(insn, 0);
	if (is(insn, 0x1f000000, 0x1b000000)) { /* madd and the like */
		operands->reads |= reg(insn, 10);
		operands->cycles = MULTIPLY_CYCLES;
	} else if (is(insn, 0x7fe0f800, 0x1ac00800)) { /* udiv, sdiv */
		to->kinds |= IS(EV_DIVIDES);
		operands->cycles = DIVIDE_CYCLES;
	}
}

struct decoded decode_arm64(const uint8_t *bytes, size_t size)
{
	struct decoded found = {.kinds = IS(EV_INSNS), .silent = true, .operands.cycles = 1};
	uint32_t insn = 0;

	memcpy(&insn, bytes, size < sizeof(insn) ? size : sizeof(insn));
	switch (bits(insn, 25, 4)) {
	case 8:
	case 9:
		decode_immediate(insn, &found.operands);
		break;
	case 5:
	case 13:
		decode_register(insn, &found);
		break;
	case 4:
	case 6:
	case 12:
	case 14:
		decode_access(insn, &found);
		break;
	case 10:
	case 11:
		decode_flow(insn, &found);
		decode_system(insn, &found);
	}
	return found;
}
