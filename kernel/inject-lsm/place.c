// SPDX-License-Identifier: GPL-2.0-only
/*
 * Injected costs - which call of a place costs how much
 *
 * Each place has a table with the cost of each call, taken in turn. So all
 * shapes run the same instructions, and so does a place without any cost.
 */

#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/slab.h>

#include "inject.h"

/* So many blocks of a pseudo-random table are different from each other. */
#define INJECT_BLOCKS 1024

static const u32 inject_nothing[1];

#define INJECT_PLACE(at, word)                                          \
	[INJECT_##at] = {                                               \
		.name = word, .table = inject_nothing, .length = 1,     \
	}

struct inject_place inject_places[INJECT_PLACES] = {
	INJECT_PLACE(GETATTR, "getattr"),
	INJECT_PLACE(OPEN, "open"),
	INJECT_PLACE(RENAME, "rename"),
	INJECT_PLACE(SETATTR, "setattr"),
	INJECT_PLACE(RMDIR, "rmdir"),
	INJECT_PLACE(MKDIR, "mkdir"),
	INJECT_PLACE(CREATE, "create"),
	INJECT_PLACE(PERMISSION, "permission"),
	INJECT_PLACE(FILE_FREE, "file_free"),
	INJECT_PLACE(INODE_FREE, "inode_free"),
	INJECT_PLACE(RCU, "rcu"),
	INJECT_PLACE(TASK, "task"),
	INJECT_PLACE(WORK, "work"),
	INJECT_PLACE(OUTSIDE, "outside"),
};

/**
 * inject_choose - Say what this call of a place costs, and count it
 * @place: the place
 *
 * The same instructions for every call: no branch depends on the cost.
 *
 * Context: Any. Calls at the same time each take a cost of their own.
 * Return: instructions.
 */
noinline u64 inject_choose(struct inject_place *place)
{
	u64 call = atomic64_fetch_inc(&place->calls);
	u64 insns = place->table[call % place->length];

	atomic64_add(insns, &place->insns);
	atomic64_add(!!insns, &place->times);
	return insns;
}

/* As drand48(): the same numbers in every boot. */
static u32 __init inject_draw(u64 *state, u32 below)
{
	*state = *state * 0x5deece66dULL + 0xb;
	return (u32)((*state >> 16 & 0xffffffff) * below >> 32);
}

/* Mark @hits of the calls of a block, any set of them being as likely. */
static void __init inject_mark(u32 *block, unsigned int hits, u64 *state)
{
	unsigned int i;

	for (i = 0; i < INJECT_BLOCK; i++) {
		block[i] = inject_draw(state, INJECT_BLOCK - i) < hits;
		hits -= block[i];
	}
}

/* Put 1 into @table for each call that costs more, and 0 for others. */
static void __init inject_spread(const struct inject_cost *cost, u32 *table,
				 u64 length, u64 seed)
{
	u64 i;

	for (i = 0; i < length; i++) {
		switch (cost->shape) {
		case INJECT_ALWAYS:
			table[i] = 1;
			break;
		case INJECT_SHARE:
			table[i] = (i + 1) * cost->number / 100 !=
				   i * cost->number / 100;
			break;
		case INJECT_RANDOM:
			if (i % INJECT_BLOCK == 0)
				inject_mark(table + i, cost->number *
					    INJECT_BLOCK / 100, &seed);
			break;
		case INJECT_EVERY:
			table[i] = (i + 1) % cost->number == 0;
			break;
		}
	}
}

/* How many calls it takes until the marks come again. */
static u64 __init inject_period(const struct inject_cost *cost)
{
	switch (cost->shape) {
	case INJECT_SHARE:
		return 100;
	case INJECT_RANDOM:
		return INJECT_BLOCK * INJECT_BLOCKS;
	case INJECT_EVERY:
		return cost->number;
	default:
		return 1;
	}
}

/**
 * inject_prepare - Make the table of a place from what the place was told
 * @place: the place; one that was told nothing stays as it is
 *
 * Return: 0 or -ENOMEM.
 */
int __init inject_prepare(struct inject_place *place)
{
	const struct inject_cost *cost = &place->cost;
	/* Each of the costs has its turn as often as any other. */
	u64 length = inject_period(cost) * cost->n_insns;
	/* Places are not in step with each other. */
	u64 seed = (place - inject_places + 1) * GOLDEN_RATIO_64;
	unsigned int turn = 0;
	u32 *table;
	u64 i;

	if (!cost->named)
		return 0;
	table = kcalloc(length, sizeof(*table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	inject_spread(cost, table, length, seed);
	for (i = 0; i < length; i++) {
		if (!table[i])
			continue;
		table[i] = cost->insns[turn];
		turn = (turn + 1) % cost->n_insns;
	}
	place->table = table;
	place->length = length;
	return 0;
}
