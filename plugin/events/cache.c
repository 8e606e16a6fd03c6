// SPDX-License-Identifier: GPL-2.0-or-later
#include "cache.h"

#include <stdlib.h>
#include <string.h>

bool cache_init(struct cache *cache, uint32_t sets, uint32_t ways)
{
	*cache = (struct cache){sets, ways, calloc((size_t)sets * ways, sizeof(*cache->entries))};
	return cache->entries;
}

void cache_clear(struct cache *cache)
{
	memset(cache->entries, 0, (size_t)cache->sets * cache->ways * sizeof(*cache->entries));
}

bool cache_use(struct cache *cache, uint64_t index, uint64_t entry)
{
	uint64_t *set = cache->entries + (index & (cache->sets - 1)) * cache->ways;
	uint64_t wanted = entry + 1, previous = set[0];

	if (previous == wanted)
		return true;
	/* Each entry moves down by one, until the place of the one that moves to the front. */
	set[0] = wanted;
	for (uint32_t way = 1; way < cache->ways; way++) {
		uint64_t here = set[way];

		set[way] = previous;
		if (here == wanted)
			return true;
		previous = here;
	}
	return false;
}
