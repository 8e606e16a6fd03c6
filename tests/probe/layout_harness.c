// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Holds objects of a simulated allocator: layout_harness SEED OBJECTS SLAB FIRST STRAY. Slabs have
 * SLAB objects each, the first FIRST of which lie in their first page; who gives back is next in
 * turn. STRAY: one measurement of so many meets something else (0: none). Prints how many are held,
 * of them those in first pages, and how many of the next OBJECTS lie in one.
 */
#include "layout/allocation_layout.h"
#include "sampler/region.h"

#include <stdio.h>
#include <stdlib.h>

#define BASE	 30000
#define BY_PLACE 32
#define MOST	 4096

static unsigned int per_slab, first, stray, made;
static unsigned int next[MOST], free_ones;
static unsigned int mine[MOST_OBJECTS];

/* Nothing here is measured. */
uint64_t region_measure(struct bench *bench)
{
	(void)bench;
	return 0;
}

static int is_first(unsigned int object)
{
	return object % per_slab < first;
}

static void begin_slab(void)
{
	for (unsigned int i = 0; i < per_slab; i++)
		next[free_ones++] = made++;
	for (unsigned int i = free_ones; i-- > free_ones - per_slab + 1;) {
		unsigned int other = free_ones - per_slab +
				     (unsigned int)rand() % (i - free_ones + per_slab + 1);
		unsigned int object = next[i];

		next[i] = next[other];
		next[other] = object;
	}
}

static unsigned int head(void)
{
	if (!free_ones)
		begin_slab();
	return next[free_ones - 1];
}

static uint64_t cost(void *context)
{
	uint64_t more = stray && (unsigned int)rand() % stray == 0 ? 7777 : 0;

	(void)context;
	return BASE + more + (is_first(head()) ? 0 : BY_PLACE);
}

static int take(void *context, unsigned int number)
{
	(void)context;
	mine[number] = head();
	free_ones--;
	return 0;
}

static int refuse(void *context, unsigned int number)
{
	(void)context;
	(void)number;
	return -1;
}

static void give_back(void *context, unsigned int number)
{
	(void)context;
	next[free_ones++] = mine[number];
}

int main(int argc, char **argv)
{
	struct object_kind kind = {.cost = cost, .take = take, .give_back = give_back};
	unsigned int wrong = 0, right = 0;
	int held;

	if (argc != 6)
		return 2;
	srand((unsigned int)atoi(argv[1]));
	kind.objects = (unsigned int)atoi(argv[2]);
	per_slab = (unsigned int)atoi(argv[3]);
	first = (unsigned int)atoi(argv[4]);
	stray = (unsigned int)atoi(argv[5]);
	if (!kind.objects) {
		kind.objects = 1;
		kind.take = refuse;
	}
	for (int i = rand() % 5; i >= 0; i--)
		begin_slab();
	held = layout_pin(&kind);
	for (unsigned int i = 0; i < kind.objects; i++) {
		wrong += is_first(head());
		free_ones--;
	}
	for (unsigned int i = 0; i < made; i++)
		right += is_first(i);
	printf("%d %u %u\n", held, wrong, right);
	return 0;
}
