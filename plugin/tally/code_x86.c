// SPDX-License-Identifier: GPL-2.0-or-later
#include "code.h"

#include <string.h>

/* Where the kernel maps physical address 0 for its code; no guest has KASLR. */
#define TEXT_MAP 0xffffffff80000000

#define GUEST_ENOSYS 38

static int32_t displacement_of(const uint8_t *bytes)
{
	int32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static uint64_t text_map(uint64_t text_start)
{
	(void)text_start;
	return TEXT_MAP;
}

/* mov %rsp,OFFSET(%rdi) and mov OFFSET(%rsi),%rsp of __switch_to_asm. */
static enum switch_part switches(const uint8_t *bytes, size_t size, uint64_t *offset)
{
	static const uint8_t save[] = {0x48, 0x89, 0xa7}, load[] = {0x48, 0x8b, 0xa6};

	if (size != 7)
		return SWITCH_NONE;
	*offset = (uint64_t)displacement_of(bytes + 3);
	if (!memcmp(bytes, save, sizeof(save)))
		return SWITCH_SAVE;
	return memcmp(bytes, load, sizeof(load)) ? SWITCH_NONE : SWITCH_LOAD;
}

static uint64_t target(const uint8_t *bytes, size_t size, uint64_t vaddr, bool call)
{
	if (size == 5 && bytes[0] == (call ? 0xe8 : 0xe9))
		return vaddr + size + (uint64_t)displacement_of(bytes + 1);
	if (!call && size == 2 && bytes[0] == 0xeb)
		return vaddr + size + (uint64_t)(int8_t)bytes[1];
	return 0;
}

static int stack(const uint8_t *bytes, size_t size)
{
	uint8_t opcode = bytes[bytes[0] == 0x41] & 0xf8;

	(void)size;
	return (opcode == 0x50) - (opcode == 0x58);
}

/* REX.W, a displacement of one byte, no SIB byte. */
static bool is_store(const uint8_t *bytes, uint8_t opcode, unsigned int displacement)
{
	return (bytes[0] & 0xf8) == 0x48 && bytes[1] == opcode && (bytes[2] & 0xc0) == 0x40 &&
	       (bytes[2] & 7) != 4 && bytes[3] == displacement;
}

static bool stores(const uint8_t *bytes, unsigned int displacement, bool zero, uint64_t *early)
{
	*early = 0;
	return is_store(bytes, zero ? 0xc7 : 0x89, displacement);
}

/* push $-ENOSYS, and what stores ax. */
static enum result_part result(const uint8_t *bytes, size_t size)
{
	if (size == 2 && bytes[0] == 0x6a && bytes[1] == (uint8_t)-GUEST_ENOSYS)
		return RESULT_UNKNOWN;
	if (size == 4 && bytes[0] == 0x48 && is_store(bytes, 0x89, 0x50) && !(bytes[2] & 0x38))
		return RESULT_STORED;
	return RESULT_NONE;
}

/* incl %gs:ADDRESS, which this_cpu_inc() of an unsigned int is. */
static uint64_t counts(const uint8_t *bytes, size_t size, uint64_t vaddr)
{
	static const uint8_t relative[] = {0x65, 0xff, 0x05}, absolute[] = {0x65, 0xff, 0x04, 0x25};

	if (size == 7 && !memcmp(bytes, relative, sizeof(relative)))
		return vaddr + size + (uint64_t)displacement_of(bytes + 3);
	if (size == 8 && !memcmp(bytes, absolute, sizeof(absolute)))
		return (uint64_t)displacement_of(bytes + 4);
	return 0;
}

const struct code code_x86 = {
	.call = "__x64_sys_",
	.result_stored = "do_syscall_64",
	.unknown = -GUEST_ENOSYS,
	.unknown_bytes = sizeof(int64_t),
	.text_map = text_map,
	.switches = switches,
	.target = target,
	.stack = stack,
	.stores = stores,
	.result = result,
	.counts = counts,
};
