// SPDX-License-Identifier: GPL-2.0-or-later
#include "children.h"

#include "moment.h"
#include "places.h"
#include "region.h"
#include "sys.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* More than the kernel's slabs of what a process is made of have free: some 20 each. */
#define CHILDREN   48
#define READINGS   8
#define SETTLED	   4
#define MOST_NS	   (100000 << 4)
#define PAGE_BYTES 4096
#define END	   0x7ffffffff000

static pid_t child[MOST_PLACES], space[MOST_PLACES];
static void (*alone)(long below, long above, long bytes_above);

/* A process with the shared page and nothing else: it is in no tree of another one's pages. */
static pid_t make_child(void)
{
	long page = (long)alone, pid = sys4(AS_FORK());

	if (pid == 0) {
		sys4(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
		alone(page, page + PAGE_BYTES, END - page - PAGE_BYTES);
	}
	return (pid_t)pid;
}

static void end_child(pid_t pid)
{
	sys4(SYS_kill, pid, SIGKILL, 0, 0);
	sys4(SYS_wait4, pid, 0, 0, 0);
}

/* run(): the child shares all memory, so that little is to be done but what holds it. */
static void make_and_end(struct bench *bench)
{
	call_all(&bench->call[0]);
	if (!bench->call[0].result)
		sys4(SYS_exit_group, 0, 0, 0, 0);
	bench->call[1].arg[0] = bench->call[0].result;
	call_all(&bench->call[1]);
}

static uint64_t cost_of_child(void)
{
	static const struct op op = {.run = make_and_end};
	struct bench bench = {.op = &op};
	uint64_t least = MOST_NS;

	bench.call[0] = (struct call){CALLS(AS_VFORK())};
	bench.call[1] = (struct call){
		.nr = SYS_wait4,
	};
	for (int i = 0; i < SETTLED; i++) {
		uint64_t took;

		moment_await(least);
		took = places_cost(&bench, 1);
		if (took < least)
			least = took;
	}
	return least;
}

/* Where its address space lies tells a copy of what that has of the program's start. */
static uint64_t cost_of_space(unsigned int number)
{
	struct bench bench = {.calls = 1, .length = 1};
	char path[32], start[64];
	uint64_t cost;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", space[number]);
	fd = sys_open(path, O_RDONLY, 0);
	if (fd < 0)
		return 0;
	bench.call[0] =
		(struct call){.nr = SYS_pread64, .arg = {fd, (long)start, sizeof(start), 0}};
	cost = places_cost(&bench, READINGS);
	sys_close(fd);
	return cost;
}

static int take_child(unsigned int number)
{
	const struct timespec moment = {.tv_nsec = 5000000};

	child[number] = make_child();
	/* It gives its pages back, and the kernel what earlier ones were made of. */
	sys4(SYS_nanosleep, (long)&moment, 0, 0, 0);
	return child[number] < 0 ? child[number] : 0;
}

static void give_child_back(unsigned int number)
{
	end_child(child[number]);
}

static int take_space(unsigned int number)
{
	space[number] = make_child();
	return space[number] < 0 ? space[number] : 0;
}

static void give_space_back(unsigned int number)
{
	end_child(space[number]);
}

int children_hold(void)
{
	static const struct moment moment = {.by_counter = true, .by_period = true, .rests = true};
	static const int priority;
	static const struct place children = {.cost = cost_of_child,
					      .take = take_child,
					      .give_back = give_child_back,
					      .objects = CHILDREN};
	static const struct place spaces = {.cost_taken = cost_of_space,
					    .take = take_space,
					    .give_back = give_space_back,
					    .objects = CHILDREN};
	int held, spaces_held;
	void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return -errno;
	memcpy(page, arch_code_alone, sizeof(arch_code_alone));
	memcpy(&alone, &page, sizeof(alone));
	sys4(SYS_sched_setscheduler, 0, SCHED_BATCH, (long)&priority, 0);
	moment_open(&moment);
	held = places_hold(&children);
	spaces_held = places_hold(&spaces);
	return held < 0 ? held : spaces_held < 0 ? spaces_held : held + spaces_held;
}
