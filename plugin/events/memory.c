// SPDX-License-Identifier: GPL-2.0-or-later
/* The sizes are those of one recent server core; docs/reference/events.md has them in words. */
#include "memory.h"

#include "kinds.h"

#define LINE_BITS 6
#define PAGE_BITS 12
#define HUGE_BITS 21

/*
 * Where Linux maps pages of 2 MiB, as guests have it (nokaslr): its text. The direct map counts as
 * pages of 4 KiB, which is what a host gives most virtual machines for it; and a page of objects
 * that was long not used is what makes a new inode take long, on any machine.
 */
static const struct {
	uint64_t first, last;
} huge[] = {
	{0xffffffff80000000, 0xffffffff9fffffff},
};

bool memory_init(struct memory *memory)
{
	return cache_init(&memory->l1i, 64, 8) && cache_init(&memory->l1d, 64, 12) &&
	       cache_init(&memory->l2, 2048, 16) && cache_init(&memory->itlb, 32, 8) &&
	       cache_init(&memory->dtlb, 16, 6) && cache_init(&memory->stlb, 128, 16) &&
	       distinct_init(&memory->code_lines) && distinct_init(&memory->code_pages) &&
	       distinct_init(&memory->data_lines) && distinct_init(&memory->data_pages);
}

void memory_clear(struct memory *memory)
{
	cache_clear(&memory->l1i);
	cache_clear(&memory->l1d);
	cache_clear(&memory->l2);
	cache_clear(&memory->itlb);
	cache_clear(&memory->dtlb);
	cache_clear(&memory->stlb);
}

void memory_begin(struct memory *memory)
{
	distinct_clear(&memory->code_lines);
	distinct_clear(&memory->code_pages);
	distinct_clear(&memory->data_lines);
	distinct_clear(&memory->data_pages);
}

bool memory_full(const struct memory *memory)
{
	return memory->code_lines.full || memory->code_pages.full || memory->data_lines.full ||
	       memory->data_pages.full;
}

static void use_tlb(struct memory *memory, struct cache *first, uint64_t address, int missed,
		    uint32_t *counts)
{
	uint64_t page = address >> PAGE_BITS, entry = page << 1;
	bool again;

	for (unsigned int i = 0; i < sizeof(huge) / sizeof(*huge); i++) {
		if (address < huge[i].first || address > huge[i].last)
			continue;
		page = address >> HUGE_BITS;
		entry = page << 1 | 1;
	}
	if (cache_use(first, page, entry))
		return;
	again = cache_use(&memory->stlb, page, entry);
	if (counts) {
		counts[missed]++;
		counts[EV_STLB_MISSES] += !again;
	}
}

static void use_cache(struct memory *memory, struct cache *first, uint64_t line, int missed,
		      uint32_t *counts)
{
	if (cache_use(first, line, line))
		return;
	if (counts)
		counts[missed]++;
	if (cache_use(&memory->l2, line, line))
		return;
	if (counts)
		counts[EV_L2_MISSES]++;
	/* The other line of the pair comes along. */
	cache_use(&memory->l2, line ^ 1, line ^ 1);
}

void memory_fetch(struct memory *memory, uint64_t address, uint32_t *counts)
{
	uint64_t line = address >> LINE_BITS;

	if (counts) {
		counts[EV_CODE_LINES] += distinct_add(&memory->code_lines, line);
		counts[EV_CODE_PAGES] += distinct_add(&memory->code_pages, address >> PAGE_BITS);
	}
	use_tlb(memory, &memory->itlb, address, EV_ITLB_MISSES, counts);
	use_cache(memory, &memory->l1i, line, EV_L1I_MISSES, counts);
}

void memory_access(struct memory *memory, uint64_t address, uint32_t *counts)
{
	uint64_t line = address >> LINE_BITS;

	if (counts) {
		counts[EV_DATA_LINES] += distinct_add(&memory->data_lines, line);
		counts[EV_DATA_PAGES] += distinct_add(&memory->data_pages, address >> PAGE_BITS);
	}
	use_tlb(memory, &memory->dtlb, address, EV_DTLB_MISSES, counts);
	use_cache(memory, &memory->l1d, line, EV_L1D_MISSES, counts);
}
