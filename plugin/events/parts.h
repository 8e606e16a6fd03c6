/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An x86 instruction taken apart as far as it matters. */
#ifndef LSMETER_EVENTS_PARTS_H
#define LSMETER_EVENTS_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct parts {
	bool lock;
	uint8_t rex;	/* 40 to 4f, 0 for none */
	uint8_t opcode; /* after 0f if two_bytes */
	bool two_bytes;
	uint8_t modrm; /* what follows the opcode, 0 for nothing */
	uint8_t sib;   /* what follows that */
	bool register_only;
	uint8_t digit; /* the middle field of modrm */
};

struct parts take_apart(const uint8_t *bytes, size_t size);

#endif
