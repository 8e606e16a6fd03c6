// SPDX-License-Identifier: GPL-2.0-or-later
#include "predictor.h"

#include <string.h>

#define NO_TABLE (-1)

static const uint8_t lengths[TAGE_TABLES] = {5, 12, 27, 60};

void predictor_clear(struct predictor *predictor)
{
	memset(predictor, 0, sizeof(*predictor));
	memset(predictor->base, 1, sizeof(predictor->base));
}

/* The newest `length` outcomes, folded to `bits` by exclusive or. */
static uint32_t fold(uint64_t history, unsigned int length, unsigned int bits)
{
	uint32_t folded = 0;

	for (history &= (1ull << length) - 1; history; history >>= bits)
		folded ^= (uint32_t)history & ((1u << bits) - 1);
	return folded;
}

static uint32_t index_of(const struct predictor *predictor, uint64_t from, int table)
{
	uint64_t hash = from ^ from >> 10 ^ (uint64_t)table << 3;

	return (uint32_t)(hash ^ fold(predictor->history, lengths[table], 10)) & (TAGE_ENTRIES - 1);
}

/* Never 0, which an empty entry has. */
static uint16_t tag_of(const struct predictor *predictor, uint64_t from, int table)
{
	uint64_t hash = from ^ from >> 7 ^ fold(predictor->history, lengths[table], 9) << 1;

	return (uint16_t)((hash ^ fold(predictor->history, lengths[table], 11)) & 0x7ff) | 0x800;
}

static struct tagged *entry_of(struct predictor *predictor, uint64_t from, int table)
{
	return &predictor->tables[table][index_of(predictor, from, table)];
}

/* The table below `under` with the longest history that knows the branch, NO_TABLE for none. */
static int provider(struct predictor *predictor, uint64_t from, int under)
{
	while (under-- > 0)
		if (entry_of(predictor, from, under)->tag == tag_of(predictor, from, under))
			return under;
	return NO_TABLE;
}

static uint8_t *base_of(struct predictor *predictor, uint64_t from)
{
	return &predictor->base[(from ^ from >> 13) & (BASE_ENTRIES - 1)];
}

static bool says(struct predictor *predictor, uint64_t from, int table)
{
	if (table == NO_TABLE)
		return *base_of(predictor, from) >= 2;
	return entry_of(predictor, from, table)->counter >= 0;
}

static void learn(struct predictor *predictor, uint64_t from, int table, bool taken)
{
	if (table == NO_TABLE) {
		uint8_t *counter = base_of(predictor, from);

		if (taken && *counter < 3)
			++*counter;
		else if (!taken && *counter)
			--*counter;
		return;
	}
	struct tagged *entry = entry_of(predictor, from, table);

	if (taken && entry->counter < 3)
		entry->counter++;
	else if (!taken && entry->counter > -4)
		entry->counter--;
}

/* Take an entry of a longer history for a branch that was not foreseen. */
static void allocate(struct predictor *predictor, uint64_t from, int above, bool taken)
{
	for (int table = above + 1; table < TAGE_TABLES; table++) {
		struct tagged *entry = entry_of(predictor, from, table);

		if (entry->useful)
			continue;
		entry->tag = tag_of(predictor, from, table);
		entry->counter = taken ? 0 : -1;
		return;
	}
	for (int table = above + 1; table < TAGE_TABLES; table++)
		entry_of(predictor, from, table)->useful--;
}

bool predict_branch(struct predictor *predictor, uint64_t from, bool taken)
{
	int first = provider(predictor, from, TAGE_TABLES);
	int second = first == NO_TABLE ? NO_TABLE : provider(predictor, from, first);
	bool foreseen = says(predictor, from, first) == taken;

	if (first != NO_TABLE && foreseen != (says(predictor, from, second) == taken)) {
		struct tagged *entry = entry_of(predictor, from, first);

		if (foreseen && entry->useful < 3)
			entry->useful++;
		else if (!foreseen && entry->useful)
			entry->useful--;
	}
	learn(predictor, from, first, taken);
	if (!foreseen)
		allocate(predictor, from, first, taken);
	predictor->history = predictor->history << 1 | taken;
	return foreseen;
}

bool predict_target(struct predictor *predictor, uint64_t from, uint64_t to)
{
	uint64_t hash = from ^ from >> 10;
	struct target *last = &predictor->last[hash & (TARGET_ENTRIES - 1)];
	struct target *by_path =
		&predictor->by_path[(hash ^ predictor->path ^ predictor->path >> 10) &
				    (TARGET_ENTRIES - 1)];
	const struct target *known = by_path->from == from ? by_path : last;
	bool foreseen = known->from == from && known->to == to;

	*last = *by_path = (struct target){from, to};
	predictor->path = predictor->path << 5 ^ (uint32_t)(to >> 2);
	return foreseen;
}

void predictor_call(struct predictor *predictor, uint64_t back)
{
	predictor->top = (predictor->top + 1) % RETURN_ENTRIES;
	predictor->returns[predictor->top] = back;
}

uint64_t predictor_return(struct predictor *predictor)
{
	uint64_t back = predictor->returns[predictor->top];

	predictor->returns[predictor->top] = 0;
	predictor->top = (predictor->top + RETURN_ENTRIES - 1) % RETURN_ENTRIES;
	return back;
}
