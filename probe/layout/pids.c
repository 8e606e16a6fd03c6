// SPDX-License-Identifier: GPL-2.0-or-later
#include "layout/pids.h"

#include "arch/arch.h"
#include "arch/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The kernel goes round from 300 on, to where pid_max ends. */
#define FIRST	300
#define PID_MAX "448"
#define END	448
#define NODE	64
#define NODES	(END / NODE - FIRST / NODE)
/* Enough to get there from a guest's first processes. */
#define MOST_TRIES 1000

static int limit_numbers(void)
{
	int fd = open("/proc/sys/kernel/pid_max", O_WRONLY | O_CLOEXEC);
	int error = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, PID_MAX, sizeof(PID_MAX) - 1) < 0)
		error = -errno;
	close(fd);
	return error;
}

static _Noreturn void wait_for_the_end(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

/* Take the next number, and give it back. */
static pid_t next_number(void)
{
	pid_t pid = vfork();

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return pid;
}

int pids_pin_nodes(void)
{
	bool held[END / NODE + 1] = {false};
	int error = limit_numbers(), nodes = 0;
	pid_t next = 0, pid;

	if (error)
		return error;
	for (int i = 0; i < MOST_TRIES && nodes < NODES; i++) {
		bool wanted = next >= FIRST && next < END && !held[next / NODE];

		pid = wanted ? fork() : next_number();
		if (pid == 0)
			wait_for_the_end();
		if (pid < 0)
			return -errno;
		if (wanted && pid < END && !held[pid / NODE]) {
			held[pid / NODE] = true;
			nodes++;
		}
		next = pid + 1 < END ? pid + 1 : FIRST;
	}
	return nodes;
}
