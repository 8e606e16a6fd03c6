// SPDX-License-Identifier: GPL-2.0-or-later
#include "vary.h"

#include "sys.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGE_BYTES 4096
#define MAX_PIPES  32
#define MAX_PAGES  64

/* The least that mmap_base() leaves to a stack (arch/x86/mm/mmap.c), and pages of a page table. */
#define STACK_BYTES (128UL << 20)
#define TABLE_PAGES 512

/* A generator of 64 bits (splitmix64), so that neighbouring seeds have nothing in common. */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Files, directory entries and inodes, and pages, which stay until the guest ends. */
void vary_guest(unsigned long seed)
{
	uint64_t state = seed, pipes, pages;
	int ends[2];
	char *memory;

	if (!seed)
		return;
	pipes = draw(&state) % MAX_PIPES;
	for (uint64_t i = 0; i < pipes; i++) {
		if (sys4(SYS_pipe2, (long)ends, O_CLOEXEC, 0, 0))
			break;
	}
	pages = 1 + draw(&state) % MAX_PAGES;
	/* Shared: no process that is made later copies what maps them, or pays for it at its end.
	 */
	memory = mmap(NULL, pages * PAGE_BYTES, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory != MAP_FAILED)
		memory[0] = 1;
}

bool vary_mappings(unsigned long seed)
{
	uint64_t state = seed ^ STACK_BYTES;
	struct rlimit stack = {.rlim_max = RLIM_INFINITY};

	stack.rlim_cur = STACK_BYTES + draw(&state) % TABLE_PAGES * PAGE_BYTES;
	return !seed || !setrlimit(RLIMIT_STACK, &stack);
}

struct bench *vary_place(unsigned long seed, unsigned int index)
{
	static char area[2 * PAGE_BYTES + sizeof(struct bench)]
		__attribute__((aligned(PAGE_BYTES)));
	uint64_t state = seed + index;
	size_t at = seed ? draw(&state) % PAGE_BYTES / sizeof(uint64_t) * sizeof(uint64_t) : 0;

	/* Touched here, so that no reading pays for a page. */
	memset(area, 0, sizeof(area));
	return (struct bench *)(void *)(area + at);
}
