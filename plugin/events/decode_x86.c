// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode.h"

#include "kinds.h"

#include <string.h>

#define IS(event)  (1u << (event))
#define IRET_LOADS 5 /* where to go on, flags, stack, and both segments */

static bool is_prefix(uint8_t byte)
{
	switch (byte) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0x66:
	case 0x67:
	case 0xf0:
	case 0xf2:
	case 0xf3:
		return true;
	default:
		return (byte & 0xf0) == 0x40;
	}
}

struct parts take_apart(const uint8_t *bytes, size_t size)
{
	struct parts parts = {0};
	size_t at = 0;

	for (; at + 1 < size && is_prefix(bytes[at]); at++) {
		parts.lock |= bytes[at] == 0xf0;
		parts.rex = (bytes[at] & 0xf0) == 0x40 ? bytes[at] : 0;
	}
	parts.two_bytes = at + 1 < size && bytes[at] == 0x0f;
	at += parts.two_bytes;
	parts.opcode = at < size ? bytes[at] : 0;
	parts.modrm = at + 1 < size ? bytes[at + 1] : 0;
	parts.sib = at + 2 < size ? bytes[at + 2] : 0;
	parts.register_only = parts.modrm >= 0xc0;
	parts.digit = parts.modrm >> 3 & 7;
	return parts;
}

/* 0f 01: tables, and instructions that have no operand. */
static void decode_system(const struct parts *parts, struct decoded *to)
{
	to->silent = true;
	if (!parts->register_only) {
		/* lgdt, lidt, lmsw, invlpg; sgdt, sidt and smsw only store. */
		if (parts->digit == 2 || parts->digit == 3 || parts->digit >= 6)
			to->kinds |= IS(EV_SERIALISING);
		to->silent = false;
	} else if (parts->modrm == 0xca || parts->modrm == 0xcb) {
		to->kinds |= IS(EV_SMAP_SWITCHES);
	} else if (parts->modrm == 0xf8) {
		to->kinds |= IS(EV_SWAPGS);
	} else if (parts->modrm == 0xe8) { /* serialize */
		to->kinds |= IS(EV_SERIALISING);
	}
}

static void decode_two_bytes(const struct parts *parts, struct decoded *to)
{
	switch (parts->opcode) {
	case 0x00: /* lldt, ltr */
		if (parts->digit == 2 || parts->digit == 3)
			to->kinds |= IS(EV_SERIALISING);
		break;
	case 0x01:
		decode_system(parts, to);
		break;
	case 0x05: /* syscall */
	case 0x07: /* sysret */
	case 0x34: /* sysenter */
	case 0x35: /* sysexit */
		to->kinds |= IS(EV_MODE_SWITCHES);
		to->silent = true;
		break;
	case 0x22: /* mov to a control register; cr8 does not serialise */
		to->kinds |= parts->rex & 4 ? 0 : IS(EV_SERIALISING);
		to->silent = true;
		break;
	case 0x08: /* invd */
	case 0x09: /* wbinvd */
	case 0x23: /* mov to a debug register */
	case 0x30: /* wrmsr */
	case 0xa2: /* cpuid */
	case 0xaa: /* rsm */
		to->kinds |= IS(EV_SERIALISING);
		to->silent = true;
		break;
	case 0x31: /* rdtsc */
	case 0x32: /* rdmsr */
		to->silent = true;
		break;
	case 0x38: /* 66 0f 38 82: invpcid */
		to->kinds |= parts->modrm == 0x82 ? IS(EV_SERIALISING) : 0;
		break;
	case 0xae: /* lfence, mfence, sfence */
		to->kinds |= parts->register_only && parts->digit >= 5 ? IS(EV_SERIALISING) : 0;
		break;
	case 0xb0:
	case 0xb1:
		to->kinds |= parts->lock ? 0 : IS(EV_CMPXCHG);
		break;
	case 0xc7: /* cmpxchg8b, cmpxchg16b */
		if (!parts->register_only && parts->digit == 1 && !parts->lock)
			to->kinds |= IS(EV_CMPXCHG);
		break;
	}
}

static void decode_flow(const struct parts *parts, struct decoded *to)
{
	if (parts->two_bytes ? (parts->opcode & 0xf0) == 0x80
			     : (parts->opcode & 0xf0) == 0x70 || (parts->opcode & 0xfc) == 0xe0)
		to->flow = FLOW_BRANCH;
	else if (parts->two_bytes)
		return;
	else if (parts->opcode == 0xe8)
		to->flow = FLOW_CALL;
	else if (parts->opcode == 0xc2 || parts->opcode == 0xc3)
		to->flow = FLOW_RETURN;
	else if (parts->opcode == 0xff && parts->digit == 2)
		to->flow = FLOW_INDIRECT_CALL;
	else if (parts->opcode == 0xff && parts->digit == 4)
		to->flow = FLOW_INDIRECT_JUMP;
}

static void decode_one_byte(const struct parts *parts, struct decoded *to)
{
	switch (parts->opcode) {
	case 0x86:
	case 0x87: /* xchg with memory is locked with and without a prefix */
		to->kinds |= parts->register_only ? 0 : IS(EV_LOCKED);
		break;
	case 0x9d:
		to->kinds |= IS(EV_POPF);
		break;
	case 0xcf: /* what it reads is counted here, since the function has been left by then */
		to->kinds |= IS(EV_SERIALISING) | IS(EV_MODE_SWITCHES);
		to->silent = true;
		to->loads = IRET_LOADS;
		break;
	case 0xf6:
	case 0xf7:
		to->kinds |= parts->digit >= 6 ? IS(EV_DIVIDES) : 0;
		break;
	case 0xfa:
	case 0xfb:
		to->kinds |= IS(EV_IF_SWITCHES);
		to->silent = true;
		break;
	case 0xf4: /* hlt */
	case 0xcc: /* int3 */
	case 0xcd: /* int */
		to->silent = true;
		break;
	default:
		if ((parts->opcode & 0xfc) == 0xa4 || (parts->opcode & 0xfe) == 0xaa ||
		    (parts->opcode & 0xfc) == 0xac)
			to->kinds |= IS(EV_STRING_STEPS);
	}
}

struct decoded decode_x86(const uint8_t *bytes, size_t size)
{
	struct decoded found = {.kinds = IS(EV_INSNS)};
	struct parts parts = take_apart(bytes, size);

	found.operands = operands_of(&parts);
	if (parts.lock)
		found.kinds |= IS(EV_LOCKED);
	if (parts.two_bytes)
		decode_two_bytes(&parts, &found);
	else
		decode_one_byte(&parts, &found);
	decode_flow(&parts, &found);
	if (found.flow == FLOW_BRANCH && parts.two_bytes)
		memcpy(&found.distance, bytes + size - 4, 4);
	else if (found.flow == FLOW_BRANCH)
		found.distance = (int8_t)bytes[size - 1];
	return found;
}
