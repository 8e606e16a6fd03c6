// SPDX-License-Identifier: GPL-2.0-or-later
#include "shift.h"

#include "network.h"
#include "region.h"
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* As many as a slab holds, about; then they begin anew. */
#define MOST_TAKERS 16

/* What a message takes depends on its size. */
static const int sizes[] = {1, 512, 4096};
static const char data[16384];

/*
 * They share the keeper's memory: what maps pages belongs to trees that all descendants of a
 * process share, and whoever makes a process searches them. The stack of each ends at the next.
 */
static char stacks[MOST_TAKERS + 1][4096] __attribute__((aligned(16)));
static int asked[2], done[2];
static pid_t keeper;
static bool of_network;

static void say_done(void)
{
	if (write(done[1], "", 1) != 1)
		_exit(1);
}

/* Datagrams that nobody reads: of as many bytes as the suite `net` sends. */
static void take_datagrams(int family)
{
	static const int bytes[] = {1, 1024, 16384};
	struct inet_address address = network_loopback(family);
	int fd = network_bind((int)sys4(SYS_socket, family, SOCK_DGRAM, 0, 0), &address);

	for (size_t i = 0; fd >= 0 && i < ARRAY_SIZE(bytes); i++)
		sys6(SYS_sendto, fd, (long)data, bytes[i], MSG_DONTWAIT, (long)&address,
		     address.size);
}

static void take_sockets(void)
{
	take_datagrams(AF_INET);
	take_datagrams(AF_INET6);
	sys4(SYS_socket, AF_INET, SOCK_STREAM, 0, 0);
	sys4(SYS_socket, AF_INET6, SOCK_STREAM, 0, 0);
	sys4(SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, 0);
}

/* One of each kind of socket, with messages in it, and this process itself. */
static _Noreturn int take(void *unused)
{
	int ends[2];

	(void)unused;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	if (!socketpair(AF_UNIX, SOCK_DGRAM, 0, ends)) {
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
			send(ends[0], data, (size_t)sizes[i], MSG_DONTWAIT);
	}
	if (of_network)
		take_sockets();
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

int shift_begin(bool network)
{
	of_network = network;
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
