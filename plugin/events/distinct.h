/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set of numbers that is emptied often: the lines or pages that one reading has touched. */
#ifndef LSMETER_EVENTS_DISTINCT_H
#define LSMETER_EVENTS_DISTINCT_H

#include <stdbool.h>
#include <stdint.h>

#define MAX_DISTINCT 49152 /* three quarters of the table; 3 MiB of lines */

struct distinct {
	uint64_t *keys;
	uint32_t *generations; /* in which a key was put in */
	uint32_t generation;
	uint32_t count;
	bool full; /* a number found no room */
};

/* Returns false when there is no memory. */
bool distinct_init(struct distinct *set);

void distinct_clear(struct distinct *set);

/* Put a number in; returns whether it was not there. */
bool distinct_add(struct distinct *set, uint64_t key);

#endif
