/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What accesses to code and data find in caches and TLBs, all by virtual address. */
#ifndef LSMETER_EVENTS_MEMORY_H
#define LSMETER_EVENTS_MEMORY_H

#include "cache.h"
#include "distinct.h"

#include <stdbool.h>
#include <stdint.h>

struct memory {
	struct cache l1i, l1d, l2, itlb, dtlb, stlb;
	struct distinct code_lines, code_pages, data_lines, data_pages;
};

/* Returns false when there is no memory. */
bool memory_init(struct memory *memory);

/* Empty caches and TLBs. */
void memory_clear(struct memory *memory);

/* Begin a reading: nothing counts as touched any more; caches stay as they are. */
void memory_begin(struct memory *memory);

/* Whether a set of the reading found no room for all. */
bool memory_full(const struct memory *memory);

/* Add to `counts`, if it is not NULL, what an access to a byte of code, or of data, is. */
void memory_fetch(struct memory *memory, uint64_t address, uint32_t *counts);
void memory_access(struct memory *memory, uint64_t address, uint32_t *counts);

#endif
