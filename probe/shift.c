// SPDX-License-Identifier: GPL-2.0-or-later
#include "shift.h"

#include "region.h"
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* As many as a slab holds, about; then they begin anew. */
#define MOST_TAKERS 16

/* What a message takes depends on its size. */
static const int sizes[] = {1, 512, 4096};

/*
 * They share the keeper's memory: what maps pages belongs to trees that all descendants of a
 * process share, and whoever makes a process searches them. The stack of each ends at the next.
 */
static char stacks[MOST_TAKERS + 1][4096] __attribute__((aligned(16)));
static int asked[2], done[2];
static pid_t keeper;

static void say_done(void)
{
	if (write(done[1], "", 1) != 1)
		_exit(1);
}

/* One of each kind of socket, with messages in it, and this process itself. */
static _Noreturn int take(void *unused)
{
	static const char data[4096];
	int ends[2];

	(void)unused;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	if (!socketpair(AF_UNIX, SOCK_DGRAM, 0, ends)) {
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
			send(ends[0], data, (size_t)sizes[i], MSG_DONTWAIT);
	}
	say_done();
	for (;;)
		pause();
}

static void give_back(pid_t *taker, unsigned int *takers)
{
	while (*takers) {
		kill(taker[--*takers], SIGKILL);
		waitpid(taker[*takers], NULL, 0);
	}
}

static _Noreturn void keep(void)
{
	pid_t taker[MOST_TAKERS];
	unsigned int takers = 0;
	char ask;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(asked[1]);
	while (read(asked[0], &ask, 1) == 1) {
		if (takers == MOST_TAKERS)
			give_back(taker, &takers);
		taker[takers] = clone(take, stacks[takers + 1], CLONE_VM | SIGCHLD, NULL);
		if (taker[takers] > 0)
			takers++;
		else
			say_done();
	}
	give_back(taker, &takers);
	_exit(0);
}

int shift_begin(void)
{
	if (pipe2(asked, O_CLOEXEC))
		return -errno;
	if (pipe2(done, O_CLOEXEC))
		return -errno;
	keeper = fork();
	if (keeper == 0)
		keep();
	close(asked[0]);
	return keeper < 0 ? -errno : 0;
}

void shift_next(void)
{
	char answer;

	if (keeper <= 0 || write(asked[1], "", 1) != 1)
		return;
	while (read(done[0], &answer, 1) < 0 && errno == EINTR)
		;
}

void shift_end(void)
{
	if (keeper <= 0)
		return;
	close(asked[1]);
	close(done[0]);
	close(done[1]);
	waitpid(keeper, NULL, 0);
	keeper = 0;
}
