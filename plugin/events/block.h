/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of the instructions of a translated block before it runs. */
#ifndef LSMETER_EVENTS_BLOCK_H
#define LSMETER_EVENTS_BLOCK_H

#include "decode.h"
#include "qemu_api.h"

#include <stdint.h>

struct event_insn {
	uint64_t vaddr;
	uint32_t kinds;
	bool silent;
	uint8_t loads; /* that no access shows */
	struct operands operands;
};

/* Instructions that follow each other in memory; only the last one may lead elsewhere. */
struct event_block {
	struct event_block *next; /* of those with the same hash */
	uint64_t vaddr;
	uint64_t end;	 /* the first byte behind it */
	uint64_t target; /* of FLOW_BRANCH */
	enum flow flow;	 /* of the last instruction */
	uint32_t count;
	uint32_t kinds; /* that any of them has */
	struct event_insn insns[];
};

/* What QEMU has just translated; it is kept for ever. NULL when there is no memory. */
const struct event_block *block_of(const struct qemu_plugin_tb *tb);

/* Add the events of the instructions from `first` on and before `last` to counts. */
void block_count(const struct event_block *block, uint32_t first, uint32_t last, uint32_t *counts);

/* Where the instruction with this index ends. */
uint64_t block_insn_end(const struct event_block *block, uint32_t index);

#endif
