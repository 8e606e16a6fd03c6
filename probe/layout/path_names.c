// SPDX-License-Identifier: GPL-2.0-or-later
#include "layout/path_names.h"

#include "arch/sys.h"
#include "layout/allocation_layout.h"
#include "sampler/region.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIFO "/dev/lsmeter-names"

/* A slab has eight objects at most (order 3): three slabs. */
#define NAMES 24

#define STACK	 512
#define READINGS 5

/* Processes that share this one's memory; the stack of each ends at the next. */
struct holders {
	char *stacks;
	pid_t pid[MOST_OBJECTS];
};

/* What a call with one path name takes with the object that is next in turn. */
static uint64_t cost_of_name(void *context)
{
	struct bench bench = {.calls = 1, .length = 1};

	(void)context;
	bench.call[0] = (struct call){CALLS(AS_ACCESS("/", F_OK))};
	return layout_cost(&bench, READINGS);
}

static int open_and_wait(void *unused)
{
	(void)unused;
	sys4(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
	sys_open(FIFO, O_RDONLY, 0);
	sys4(SYS_exit, 0, 0, 0, 0);
	return 0;
}

/* A process that takes the object and waits. */
static int take_name(void *context, unsigned int number)
{
	struct holders *holders = context;
	pid_t *pid = &holders->pid[number];
	const struct timespec moment = {.tv_nsec = 2000000};

	*pid = clone(open_and_wait, holders->stacks + (number + 1) * STACK, CLONE_VM | SIGCHLD,
		     NULL);
	if (*pid < 0)
		return -errno;
	sys4(SYS_nanosleep, (long)&moment, 0, 0, 0);
	return 0;
}

static void give_name_back(void *context, unsigned int number)
{
	const struct holders *holders = context;

	kill(holders->pid[number], SIGKILL);
	waitpid(holders->pid[number], NULL, 0);
}

int path_names_pin(void)
{
	struct holders holders;
	const struct object_kind names = {.cost = cost_of_name,
					  .take = take_name,
					  .give_back = give_name_back,
					  .context = &holders,
					  .objects = NAMES};

	holders.stacks = mmap(NULL, (MOST_OBJECTS + 1) * STACK, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (holders.stacks == MAP_FAILED || mkfifo(FIFO, 0600))
		return -errno;
	return layout_pin(&names);
}
