/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the instructions that the plugin watches look like: a value for each architecture. */
#ifndef LSMETER_CODE_H
#define LSMETER_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum switch_part { SWITCH_NONE, SWITCH_SAVE, SWITCH_LOAD };
enum result_part { RESULT_NONE, RESULT_UNKNOWN, RESULT_STORED };

struct code {
	const char *call;	   /* how functions begin that system calls begin with */
	const char *result_stored; /* the function that stores what a system call returns */
	/* What is stored on each entry, by which it shows that memory can be read. */
	int64_t unknown;
	size_t unknown_bytes;
	/* The address of the code that the first byte of the guest's memory has, or would have. */
	uint64_t (*text_map)(uint64_t text_start);
	uint64_t memory; /* the physical address of that byte */

	/* Saves the stack of a task, or loads that of the next: *offset in its task_struct. */
	enum switch_part (*switches)(const uint8_t *bytes, size_t size, uint64_t *offset);
	/* Where a direct jump or call leads; 0: it is none. */
	uint64_t (*target)(const uint8_t *bytes, size_t size, uint64_t vaddr, bool call);
	/* Pushes (1) a register, or pops (-1) one; NULL: a hook is followed by its link alone. */
	int (*stack)(const uint8_t *bytes, size_t size);
	/*
	 * Stores (zero: clears) what a register other than the stack's points DISPLACEMENT bytes
	 * before; *early: so many bytes before that its access begins.
	 */
	bool (*stores)(const uint8_t *bytes, unsigned int displacement, bool zero, uint64_t *early);
	enum result_part (*result)(const uint8_t *bytes, size_t size);
	/* The counter of this processor that is incremented; NULL: registers have its address. */
	uint64_t (*counts)(const uint8_t *bytes, size_t size, uint64_t vaddr);
	/* Increments a counter of 32 bits; NULL: counts() tells which. */
	bool (*increments)(const uint8_t *bytes);
};

extern const struct code code_x86, code_arm64;

/* That of the guest, once code_choose() returned true. */
extern const struct code *guest_code;
bool code_choose(void);

#endif
