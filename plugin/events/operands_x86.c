// SPDX-License-Identifier: GPL-2.0-or-later
/* The instructions that compilers make of x86 integer code; what is not here begins no chain. */
#include "operands.h"

enum {
	READ_R = 1 << 0, /* the register that modrm names in its middle */
	WRITE_R = 1 << 1,
	READ_M = 1 << 2, /* the other operand, a register or memory */
	WRITE_M = 1 << 3,
	READ_O = 1 << 4, /* the register in the opcode */
	WRITE_O = 1 << 5,
	READ_A = 1 << 6, /* rax */
	WRITE_A = 1 << 7,
	READ_D = 1 << 8, /* rdx */
	WRITE_D = 1 << 9,
	READ_C = 1 << 10,  /* rcx */
	ADDRESS = 1 << 11, /* of lea */
	MULTIPLIES = 1 << 12,
	DIVIDES = 1 << 13,
};

#define HAS_MODRM (READ_R | WRITE_R | READ_M | WRITE_M | ADDRESS)
#define STACK	  4

static unsigned int arithmetic(uint8_t opcode)
{
	bool compares = opcode >= 0x38;

	switch (opcode & 7) {
	case 0:
	case 1:
		return READ_R | READ_M | (compares ? 0 : WRITE_M);
	case 2:
	case 3:
		return READ_R | READ_M | (compares ? 0 : WRITE_R);
	case 4:
	case 5:
		return READ_A | (compares ? 0 : WRITE_A);
	default:
		return 0;
	}
}

static unsigned int group_f7(uint8_t digit)
{
	if (digit < 2)
		return READ_M;
	if (digit < 4)
		return READ_M | WRITE_M;
	if (digit < 6)
		return READ_M | READ_A | WRITE_A | WRITE_D | MULTIPLIES;
	return READ_M | READ_A | READ_D | WRITE_A | WRITE_D | DIVIDES;
}

static unsigned int one_byte(const struct parts *parts)
{
	static const uint16_t known[256] = {
		[0x50 ... 0x57] = READ_O,
		[0x58 ... 0x5f] = WRITE_O,
		[0x63] = READ_M | WRITE_R,
		[0x69] = READ_M | WRITE_R | MULTIPLIES,
		[0x6b] = READ_M | WRITE_R | MULTIPLIES,
		[0x84 ... 0x85] = READ_R | READ_M,
		[0x86 ... 0x87] = READ_R | READ_M | WRITE_R | WRITE_M,
		[0x88 ... 0x89] = READ_R | WRITE_M,
		[0x8a ... 0x8b] = READ_M | WRITE_R,
		[0x8d] = ADDRESS | WRITE_R,
		[0x91 ... 0x97] = READ_O | WRITE_O | READ_A | WRITE_A,
		[0x98] = READ_A | WRITE_A,
		[0x99] = READ_A | WRITE_D,
		[0xb0 ... 0xb7] = READ_O | WRITE_O, /* the rest of the register stays */
		[0xb8 ... 0xbf] = WRITE_O,
		[0xc0 ... 0xc1] = READ_M | WRITE_M,
		[0xc6 ... 0xc7] = WRITE_M,
		[0xd0 ... 0xd1] = READ_M | WRITE_M,
		[0xd2 ... 0xd3] = READ_M | WRITE_M | READ_C,
	};
	uint8_t opcode = parts->opcode;

	if (opcode < 0x40)
		return arithmetic(opcode);
	if (opcode == 0x80 || opcode == 0x81 || opcode == 0x83)
		return READ_M | (parts->digit == 7 ? 0 : WRITE_M);
	if (opcode == 0xf6 || opcode == 0xf7)
		return group_f7(parts->digit);
	if (opcode == 0xfe || opcode == 0xff)
		return READ_M | (parts->digit < 2 ? WRITE_M : 0);
	return known[opcode];
}

static unsigned int two_bytes(const struct parts *parts)
{
	static const uint16_t known[256] = {
		[0x40 ... 0x4f] = READ_R | READ_M | WRITE_R,			/* cmov */
		[0x90 ... 0x9f] = WRITE_M,					/* set */
		[0xa3] = READ_R | READ_M,					/* bt */
		[0xa4 ... 0xa5] = READ_R | READ_M | WRITE_M,			/* shld */
		[0xab ... 0xad] = READ_R | READ_M | WRITE_M,			/* bts, shrd */
		[0xaf] = READ_R | READ_M | WRITE_R | MULTIPLIES,		/* imul */
		[0xb0 ... 0xb1] = READ_R | READ_M | READ_A | WRITE_A | WRITE_M, /* cmpxchg */
		[0xb3] = READ_R | READ_M | WRITE_M,				/* btr */
		[0xb6 ... 0xb7] = READ_M | WRITE_R,				/* movzx */
		[0xb8] = READ_M | WRITE_R | MULTIPLIES,				/* popcnt */
		[0xbb] = READ_R | READ_M | WRITE_M,				/* btc */
		[0xbc ... 0xbd] = READ_M | WRITE_R | MULTIPLIES,		/* bsf, bsr */
		[0xbe ... 0xbf] = READ_M | WRITE_R,				/* movsx */
		[0xc0 ... 0xc1] = READ_R | READ_M | WRITE_R | WRITE_M,		/* xadd */
		[0xc8 ... 0xcf] = READ_O | WRITE_O,				/* bswap */
	};
	uint8_t opcode = parts->opcode;

	if (opcode == 0xba)
		return READ_M | (parts->digit == 4 ? 0 : WRITE_M);
	if ((opcode & 0xf0) == 0x90 && parts->register_only)
		return READ_M | WRITE_M; /* the rest of the register stays */
	return known[opcode];
}

static uint16_t bit(unsigned int number)
{
	return number == STACK ? 0 : (uint16_t)(1u << number);
}

/* The registers that an address is made of. */
static uint16_t address_of(const struct parts *parts)
{
	unsigned int high = parts->rex << 3 & 8, base = parts->modrm & 7;
	bool based = parts->modrm >= 0x40;
	uint16_t found = 0;

	if (base == STACK) {
		found = bit((parts->rex << 2 & 8) | (parts->sib >> 3 & 7));
		base = parts->sib & 7;
	}
	return based || base != 5 ? found | bit(high | base) : found;
}

struct operands operands_of(const struct parts *parts)
{
	unsigned int what = parts->two_bytes ? two_bytes(parts) : one_byte(parts);
	uint16_t r = bit((parts->rex << 1 & 8) | parts->digit);
	uint16_t m = parts->register_only ? bit((parts->rex << 3 & 8) | (parts->modrm & 7)) : 0;
	uint16_t o = bit((parts->rex << 3 & 8) | (parts->opcode & 7));
	struct operands found = {.cycles = 1};
	/* xor and sub of a register by itself wait for nothing. */
	bool clears = !parts->two_bytes && parts->register_only && r == m &&
		      ((parts->opcode & 0xfc) == 0x30 || (parts->opcode & 0xfc) == 0x28);

	if (what & HAS_MODRM && !parts->register_only)
		found.reads |= address_of(parts);
	found.reads |= (what & READ_R ? r : 0) | (what & READ_M ? m : 0) | (what & READ_O ? o : 0);
	found.reads |= (what & READ_A ? 1u << 0 : 0) | (what & READ_C ? 1u << 1 : 0);
	found.reads |= what & READ_D ? 1u << 2 : 0;
	found.writes = (what & WRITE_R ? r : 0) | (what & WRITE_M ? m : 0);
	found.writes |= (what & WRITE_O ? o : 0) | (what & WRITE_A ? 1u << 0 : 0);
	found.writes |= what & WRITE_D ? 1u << 2 : 0;
	found.reads = clears ? 0 : found.reads;
	if (what & MULTIPLIES)
		found.cycles = MULTIPLY_CYCLES;
	if (what & DIVIDES)
		found.cycles = DIVIDE_CYCLES;
	if (what & READ_M && !parts->register_only)
		found.cycles += LOAD_CYCLES;
	return found;
}
