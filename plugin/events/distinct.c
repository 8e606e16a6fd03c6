// SPDX-License-Identifier: GPL-2.0-or-later
#include "distinct.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS 65536

bool distinct_init(struct distinct *set)
{
	*set = (struct distinct){
		.keys = calloc(SLOTS, sizeof(*set->keys)),
		.generations = calloc(SLOTS, sizeof(*set->generations)),
		.generation = 1,
	};
	return set->keys && set->generations;
}

void distinct_clear(struct distinct *set)
{
	set->count = 0;
	set->full = false;
	if (++set->generation)
		return;
	memset(set->generations, 0, SLOTS * sizeof(*set->generations));
	set->generation = 1;
}

bool distinct_add(struct distinct *set, uint64_t key)
{
	uint32_t slot = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 48) & (SLOTS - 1);

	while (set->generations[slot] == set->generation) {
		if (set->keys[slot] == key)
			return false;
		slot = (slot + 1) & (SLOTS - 1);
	}
	if (set->count == MAX_DISTINCT) {
		set->full = true;
		return false;
	}
	set->count++;
	set->keys[slot] = key;
	set->generations[slot] = set->generation;
	return true;
}
