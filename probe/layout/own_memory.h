/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pages and the mappings of this process itself.
 *
 * What a setup does before a benchmark (steps, checks, reading the state of a module, becoming
 * confined) leaves more pages present than another does, and making and ending a process takes
 * some 300 instructions for each. Mappings that came and went leave a larger tree, which a new
 * process copies (Linux 6.7). Neither is a cost of the module.
 */
#ifndef LSMETER_LAYOUT_OWN_MEMORY_H
#define LSMETER_LAYOUT_OWN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

/* Large, and used in the same way under every setup: it is left as it is. */
#define BULK __attribute__((section(".bss.bulk1")))

#define MOST_RANGES 16

struct own_memory {
	char *from[MOST_RANGES], *to[MOST_RANGES];
	size_t ranges;
	bool overflows;
};

/*
 * Map the page with this number; with another protection than its neighbours it stays a mapping of
 * its own.
 */
static inline void *map_apart(unsigned int number)
{
	return mmap(NULL, 4096, number % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
}

/*
 * Give the tree of mappings the shape that it has under every setup. Then find what this process
 * can write and shares with nobody, but BULK and what of the stack is far below. The number of
 * pages, or -errno (-E2BIG: there are more ranges, and only the first are touched).
 */
long own_memory_find(struct own_memory *memory);

/* Have each page of it present, and nobody else's. */
void own_memory_touch(const struct own_memory *memory);

#endif
