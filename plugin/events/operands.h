/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which registers an instruction waits for, and which it gives. */
#ifndef LSMETER_EVENTS_OPERANDS_H
#define LSMETER_EVENTS_OPERANDS_H

#include "parts.h"

#include <stdint.h>

#define REGISTERS	32
#define LOAD_CYCLES	4
#define MULTIPLY_CYCLES 3
#define DIVIDE_CYCLES	15

/* A bit for each general register but the stack pointer, which processors know ahead. */
struct operands {
	uint32_t reads, writes;
	uint8_t cycles; /* from what it reads to what it writes, a load included */
};

/* Of x86. */
struct operands operands_of(const struct parts *parts);

#endif
