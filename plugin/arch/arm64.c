// SPDX-License-Identifier: GPL-2.0-or-later
/* Arm Architecture Reference Manual, C4.1: branches, exception generation, moves. */
#include "arch.h"
#include "markers.h"

#include <string.h>

static uint32_t word(const uint8_t *bytes, size_t size)
{
	uint32_t insn = 0;

	if (size == sizeof(insn))
		memcpy(&insn, bytes, sizeof(insn));
	return insn;
}

/* Branches to a register: opc in bits 24 to 21; bits 11 and 10 say which key authenticates. */
static enum step step_register(uint32_t insn)
{
	switch (insn >> 21 & 15) {
	case 1: /* blr, blraaz, blrabz */
	case 9: /* blraa, blrab */
		return STEP_CALL;
	case 2: /* ret, retaa, retab */
		return STEP_RETURN;
	case 4: /* eret, eretaa, eretab */
		return STEP_EXCEPTION_RETURN;
	default:
		return STEP_NEXT;
	}
}

static enum step step(const uint8_t *bytes, size_t size)
{
	uint32_t insn = word(bytes, size);

	if ((insn & 0xfc000000) == 0x94000000) /* bl */
		return STEP_CALL;
	if ((insn & 0xfe1ff000) == 0xd61f0000)
		return step_register(insn);
	if ((insn & 0xffe0001f) == 0xd4000001) /* svc */
		return STEP_SYSCALL;
	if ((insn & 0xffe0001f) == 0xd4200000) /* brk */
		return STEP_BREAK;
	return STEP_NEXT;
}

/* Two moves into the register that is always 0, which no compiler makes. */
static enum marker_part marker(const uint8_t *bytes, size_t size, uint32_t *value)
{
	uint32_t insn = word(bytes, size), half = insn >> 5 & 0xffff;

	*value = half << 16;
	if ((insn & 0xffe0001f) == 0xd2a0001f) /* movz xzr, #half, lsl #16 */
		return (*value & MARKER_MASK) == MARKER_PREPARE ? MARKER_HIGH : MARKER_NONE;
	*value = half;
	return (insn & 0xffe0001f) == 0xf280001f ? MARKER_LOW : MARKER_NONE; /* movk */
}

const struct arch arch_arm64 = {
	.number = ARCH_ARM64,
	.target = "aarch64",
	.links = true,
	.step = step,
	.marker = marker,
};
