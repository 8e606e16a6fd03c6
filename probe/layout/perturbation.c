// SPDX-License-Identifier: GPL-2.0-or-later
#include "layout/perturbation.h"

#include "arch/sys.h"
#include "layout/own_memory.h"

#include <assert.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES  4096
#define MAX_PIPES   32
#define MAX_PAGES   64
#define MAX_OTHERS  32 /* sockets, and twice as many mappings */
#define MAX_BUFFERS 10 /* net.unix.max_dgram_qlen */

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

struct kept {
	uint64_t pipes, pages, sockets, buffers, mappings; /* buffers: in each socket */
};

/* Files, directory entries and inodes, and pages, in a process that keeps them. */
static _Noreturn void keep(const struct kept *kept)
{
	static char buffer[PAGE_BYTES];
	int ends[2];
	char *memory;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uint64_t i = 0; i < kept->pipes; i++) {
		if (sys4(SYS_pipe2, (long)ends, O_CLOEXEC, 0, 0))
			break;
	}
	for (uint64_t i = 0; i < kept->sockets; i++) {
		if (socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0 ||
		    socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends))
			break;
		/* Buffers of 64 bytes to 4 KiB and their heads, in a queue that nobody reads. */
		for (uint64_t k = 0; k < kept->buffers; k++)
			send(ends[0], buffer, 64UL << k % 7, MSG_DONTWAIT);
	}
	for (unsigned int i = 0; i < kept->mappings; i++)
		map_apart(i);
	memory = mmap(NULL, kept->pages * PAGE_BYTES, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory != MAP_FAILED)
		memory[0] = 1;
	for (;;)
		pause();
}

/* Who makes a process pays for each of its own descriptors: these are another one's. */
static void keep_apart(const struct kept *kept)
{
	const struct timespec while_made = {.tv_nsec = 10000000};

	if (fork() == 0)
		keep(kept);
	nanosleep(&while_made, NULL);
}

static struct kept draw_kept(uint64_t *state)
{
	struct kept kept = {.pipes = draw(state) % MAX_PIPES};

	kept.pages = 1 + draw(state) % MAX_PAGES;
	return kept;
}

void perturb_guest(unsigned long seed)
{
	uint64_t state = seed;
	struct kept kept = draw_kept(&state);

	if (seed)
		keep_apart(&kept);
}

void perturb_batch(unsigned long seed, unsigned int number)
{
	uint64_t state = seed + number;
	struct kept kept = draw_kept(&state);

	kept.sockets = draw(&state) % MAX_OTHERS;
	kept.buffers = draw(&state) % MAX_BUFFERS;
	kept.mappings = draw(&state) % (2 * MAX_OTHERS);
	if (seed)
		keep_apart(&kept);
}

static bool watches(const char *suite)
{
	for_each_op(entry)
	{
		if ((*entry)->watches && !strcmp((*entry)->suite, suite))
			return true;
	}
	return false;
}

void perturb_watches(const char *suite, const char *directory)
{
	int fd = watches(suite) ? inotify_init1(0) : -1;

	if (fd < 0)
		return;
	inotify_add_watch(fd, directory, IN_MODIFY);
	close(fd);
}

bool perturb_mappings(unsigned long seed)
{
	uint64_t state = seed ^ STACK_BYTES;
	struct rlimit stack = {.rlim_max = RLIM_INFINITY};

	stack.rlim_cur = STACK_BYTES + draw(&state) % TABLE_PAGES * PAGE_BYTES;
	return !seed || !setrlimit(RLIMIT_STACK, &stack);
}

struct bench *perturb_bench(unsigned long seed, unsigned int index)
{
	static char area[PAGE_BYTES] __attribute__((aligned(PAGE_BYTES)));
	uint64_t state = seed + index;
	size_t places = (PAGE_BYTES - sizeof(struct bench)) / sizeof(uint64_t);
	size_t at = seed ? draw(&state) % places * sizeof(uint64_t) : 0;

	/*
	 * Touched here, so that no reading pays for a page; and all in one, which who makes a
	 * process has copied.
	 */
	static_assert(sizeof(struct bench) < PAGE_BYTES, "a benchmark is in one page");
	memset(area, 0, sizeof(area));
	return (struct bench *)(void *)(area + at);
}
