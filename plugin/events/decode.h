/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an instruction is counted as, told by its bytes alone. */
#ifndef LSMETER_EVENTS_DECODE_H
#define LSMETER_EVENTS_DECODE_H

#include "operands.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum flow {
	FLOW_NEXT,
	FLOW_BRANCH,
	FLOW_CALL,
	FLOW_INDIRECT_CALL,
	FLOW_INDIRECT_JUMP,
	FLOW_RETURN
};

struct decoded {
	uint32_t kinds;	  /* a bit for each event that the instruction is, 1 << EV_INSNS always */
	enum flow flow;	  /* how it goes on */
	int32_t distance; /* of FLOW_BRANCH: from the next instruction to where it jumps */
	bool silent;	  /* it reads and writes no memory that counts */
	uint8_t loads;	  /* what it reads all the same, counted when it runs */
	struct operands operands;
};

/* By the architecture of the guest (arch/arch.h). */
struct decoded decode(const uint8_t *bytes, size_t size);

/* Of each, without the kinds that flow has. */
struct decoded decode_x86(const uint8_t *bytes, size_t size);
struct decoded decode_arm64(const uint8_t *bytes, size_t size);

#endif
