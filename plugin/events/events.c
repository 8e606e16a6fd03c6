// SPDX-License-Identifier: GPL-2.0-or-later
#include "events.h"

#include <string.h>

#define LINE_BYTES 64
#define NO_REGION  UINT32_MAX

bool events_init(struct events *events)
{
	*events = (struct events){.region = NO_REGION};
	predictor_clear(&events->predictor);
	return memory_init(&events->memory);
}

void events_begin(struct events *events, uint32_t region, uint64_t now)
{
	if (events->region != region) {
		memory_clear(&events->memory);
		predictor_clear(&events->predictor);
	}
	events->region = region;
	memory_begin(&events->memory);
	dataflow_clear(&events->dataflow);
	events->quarters = 0;
	memset(events->pending, 0, sizeof(events->pending));
	events->done = (uint32_t)(now - events->since);
	if (!events->block || now - events->since > events->block->count)
		events->block = NULL;
	events->left = NULL;
	events->accessed = 0;
	events->repeated = 0;
	events->counting = true;
}

bool events_end(struct events *events)
{
	events->counting = false;
	return !memory_full(&events->memory);
}

/* Where to count; NULL between readings. */
static uint32_t *counts_of(struct events *events)
{
	return events->counting ? events->pending : NULL;
}

/* The first line of code is fetched anew unless it is the one before. */
static void fetch(struct events *events, uint64_t from, uint64_t to)
{
	for (uint64_t line = from & ~(uint64_t)(LINE_BYTES - 1); line < to; line += LINE_BYTES)
		memory_fetch(&events->memory, line, counts_of(events));
}

/* All of a block ran: what its last instruction does to the predictor before it is resolved. */
static void leave(struct events *events)
{
	const struct event_block *block = events->block;

	if (block->flow == FLOW_CALL || block->flow == FLOW_INDIRECT_CALL)
		predictor_call(&events->predictor, block->end);
	else if (block->flow == FLOW_RETURN)
		events->foreseen = predictor_return(&events->predictor);
	events->left = block->flow == FLOW_NEXT ? NULL : block;
}

/* Let the instructions of the block from `first` on and before `last` wait for each other. */
static void flow(struct events *events, uint32_t first, uint32_t last)
{
	for (uint32_t i = first; i < last; i++)
		events->quarters +=
			dataflow_run(&events->dataflow, &events->block->insns[i].operands);
	events->pending[EV_FLOW_CYCLES] += (uint32_t)(events->quarters / QUARTERS);
	events->quarters %= QUARTERS;
}

/* Count the instructions of the block that ran up to now. */
static void settle(struct events *events, uint64_t now)
{
	const struct event_block *block = events->block;
	uint32_t first = events->done, last;

	if (!block || now < events->since)
		return;
	last = now - events->since < block->count ? (uint32_t)(now - events->since) : block->count;
	if (last <= first)
		return;
	if (events->counting) {
		block_count(block, first, last, events->pending);
		flow(events, first, last);
	}
	fetch(events, block->insns[first].vaddr, block_insn_end(block, last - 1));
	events->done = last;
	if (last == block->count)
		leave(events);
}

/* Where the last block led: what the predictor made of it. */
static void resolve(struct events *events, uint64_t to)
{
	const struct event_block *block = events->left;
	struct predictor *predictor = &events->predictor;
	uint64_t from;

	if (!block)
		return;
	events->left = NULL;
	from = block->insns[block->count - 1].vaddr;
	if (block->flow == FLOW_BRANCH && (to == block->target || to == block->end)) {
		bool taken = to == block->target;

		events->pending[EV_TAKEN] += taken;
		events->pending[EV_BRANCH_MISSES] += !predict_branch(predictor, from, taken);
	} else if (block->flow == FLOW_RETURN) {
		events->pending[EV_RETURN_MISSES] += to != events->foreseen;
	} else if (block->flow == FLOW_INDIRECT_CALL || block->flow == FLOW_INDIRECT_JUMP) {
		events->pending[EV_INDIRECT_MISSES] += !predict_target(predictor, from, to);
	}
}

void events_arrive(struct events *events, uint64_t vaddr, uint64_t now)
{
	if (!events)
		return;
	settle(events, now);
	resolve(events, vaddr);
}

void events_astray(struct events *events)
{
	if (events)
		events->left = NULL;
}

void events_enter(struct events *events, const struct event_block *block, uint64_t now)
{
	/* Between readings the kernel undoes them, and users wait in loops that touch nothing; but
	 * a reading begins in the middle of a user's block. */
	bool passed = !events->counting && !(block->vaddr >> 63);

	if (passed)
		events->left = NULL;
	else
		events_arrive(events, block->vaddr, now);
	events->block = block;
	events->since = now;
	events->done = passed ? block->count : 0;
}

void events_access(struct events *events, const struct event_insn *insn, uint64_t vaddr,
		   uint32_t bytes, bool store, uint64_t now)
{
	const struct event_block *block = events->block;
	uint64_t index = now - events->since - 1, last = vaddr + bytes - 1;

	/* Up to QEMU 7.2 a callback stays in force after its instruction. */
	if (!block || index >= block->count || block->insns[index].vaddr != insn->vaddr)
		return;
	if (!events->counting && events->done == block->count)
		return;
	if (events->accessed != now)
		events->loads = events->stores = 0;
	events->accessed = now;
	events->loads += !store;
	events->stores += store;
	events->pending[store ? EV_STORES : EV_LOADS]++;
	memory_access(&events->memory, vaddr, counts_of(events));
	if (vaddr / LINE_BYTES != last / LINE_BYTES)
		memory_access(&events->memory, last, counts_of(events));
}

void events_fault(struct events *events, uint64_t now)
{
	const struct event_block *block;
	uint64_t index;

	if (!events || !events->counting || !events->block)
		return;
	block = events->block;
	index = now - events->since - 1;
	settle(events, now - 1);
	if (events->accessed == now) {
		events->pending[EV_LOADS] -= events->loads;
		events->pending[EV_STORES] -= events->stores;
	}
	events->repeated = index < block->count ? block->insns[index].kinds : 0;
	events->block = NULL;
	events->left = NULL;
}

void events_no_repeat(struct events *events)
{
	if (!events || !events->counting)
		return;
	for (uint32_t kinds = events->repeated; kinds; kinds &= kinds - 1)
		events->pending[__builtin_ctz(kinds)]++;
	events->repeated = 0;
}

void events_charge(struct events *events, uint32_t (*rows)[EVENTS], uint32_t row, uint64_t now)
{
	if (!events || !events->counting)
		return;
	settle(events, now);
	for (int event = 0; event < EVENTS; event++)
		rows[row][event] += events->pending[event];
	memset(events->pending, 0, sizeof(events->pending));
}
