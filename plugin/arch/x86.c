// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch.h"
#include "markers.h"

#include <string.h>

static bool is_prefix(uint8_t byte)
{
	return byte == 0x2e || byte == 0x3e || byte == 0x66 || byte == 0xf2 || byte == 0xf3 ||
	       (byte & 0xf0) == 0x40;
}

static enum step step(const uint8_t *bytes, size_t size)
{
	const uint8_t *opcode = bytes, *end = bytes + size;
	uint8_t next;

	while (opcode + 1 < end && is_prefix(*opcode))
		opcode++;
	next = opcode + 1 < end ? opcode[1] : 0;
	if (*opcode == 0xcf)
		return STEP_EXCEPTION_RETURN;
	if (*opcode == 0x0f && next == 0x07)
		return STEP_SYSCALL_RETURN;
	if (*opcode == 0xe8 || (*opcode == 0xff && opcode + 1 < end && (next >> 3 & 7) == 2))
		return STEP_CALL;
	return *opcode == 0xc3 || *opcode == 0xc2 ? STEP_RETURN : STEP_NEXT;
}

static enum marker_part marker(const uint8_t *bytes, size_t size, uint32_t *value)
{
	static const uint8_t nop[] = {MARKER_NOP_X86};

	if (size != 8 || memcmp(bytes, nop, sizeof(nop)))
		return MARKER_NONE;
	memcpy(value, bytes + sizeof(nop), sizeof(*value));
	return (*value & MARKER_MASK) == MARKER_PREPARE ? MARKER_WHOLE : MARKER_NONE;
}

const struct arch arch_x86 = {
	.number = ARCH_X86,
	.target = "x86_64",
	.step = step,
	.marker = marker,
};
