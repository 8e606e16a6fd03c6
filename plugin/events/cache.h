/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set-associative cache with true LRU: lines of code or data, or translations of pages. */
#ifndef LSMETER_EVENTS_CACHE_H
#define LSMETER_EVENTS_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct cache {
	uint32_t sets; /* a power of two */
	uint32_t ways;
	uint64_t *entries; /* of each set, most recently used first; 0 is none */
};

/* Returns false when there is no memory. */
bool cache_init(struct cache *cache, uint32_t sets, uint32_t ways);

/* Forget everything. */
void cache_clear(struct cache *cache);

/*
 * Use an entry; returns whether it was there. Otherwise the least recently used one of its set
 * gives way. The set is told by the lowest bits of `index`.
 */
bool cache_use(struct cache *cache, uint64_t index, uint64_t entry);

#endif
