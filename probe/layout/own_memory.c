// SPDX-License-Identifier: GPL-2.0-or-later
#include "layout/own_memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES  4096UL
#define MAPPINGS    64
#define STACK_BYTES (8 * PAGE_BYTES) /* more than is ever used below own_memory_find */

/* The linker sorts them: BULK lies between. */
static char bulk_begin __attribute__((section(".bss.bulk0")));
static char bulk_end __attribute__((section(".bss.bulk2")));

static long add(struct own_memory *memory, char *from, char *to)
{
	if (from >= to)
		return 0;
	if (memory->ranges == MOST_RANGES) {
		memory->overflows = true;
		return 0;
	}
	memory->from[memory->ranges] = from;
	memory->to[memory->ranges++] = to;
	return (to - from) / (long)PAGE_BYTES;
}

static char *page_of(const char *place, unsigned long after)
{
	return (char *)(((unsigned long)place + after) & -PAGE_BYTES);
}

/* Give the tree of mappings the shape that many leave: more than a node has room for. */
static void fill_tree(void)
{
	void *page[MAPPINGS];

	for (unsigned int i = 0; i < MAPPINGS; i++)
		page[i] = map_apart(i);
	for (int i = 0; i < MAPPINGS; i++) {
		if (page[i] != MAP_FAILED)
			munmap(page[i], PAGE_BYTES);
	}
}

long own_memory_find(struct own_memory *memory)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512], kind[5];
	long pages = 0;

	fill_tree();
	memory->ranges = 0;
	memory->overflows = false;
	if (!maps)
		return -errno;
	while (fgets(line, sizeof(line), maps)) {
		char *from, *to;

		if (sscanf(line, "%p-%p %4s", (void **)&from, (void **)&to, kind) != 3 ||
		    strcmp(kind, "rw-p"))
			continue;
		if (from <= line && line < to && page_of(line, -STACK_BYTES) > from)
			from = page_of(line, -STACK_BYTES);
		if (from <= &bulk_begin && &bulk_begin < to) {
			pages += add(memory, from, page_of(&bulk_begin, PAGE_BYTES - 1));
			from = page_of(&bulk_end, 0);
		}
		pages += add(memory, from, to);
	}
	fclose(maps);
	return memory->overflows ? -E2BIG : pages;
}

void own_memory_touch(const struct own_memory *memory)
{
	for (size_t i = 0; i < memory->ranges; i++) {
		for (volatile char *page = memory->from[i]; page < memory->to[i];
		     page += PAGE_BYTES)
			*page = *page;
	}
}
