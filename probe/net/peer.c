// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/peer.h"

#include "arch/sys.h"
#include "policy/become.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* What the process in the peer namespace leaves: descriptors, or -errno, by family and type. */
struct peer_sockets {
	int fd[2][2][PEER_SOCKETS];
	const char *failed; /* a constant of this program, so the worker can read it */
	int error;
};

static struct peer_sockets *sockets;
static bool lacking;

static int *places(int family, int type)
{
	return sockets->fd[family == AF_INET6][type == SOCK_DGRAM];
}

static _Noreturn void make_and_exit(const struct request *request, const char *work)
{
	static const int families[] = {AF_INET, AF_INET6}, types[] = {SOCK_STREAM, SOCK_DGRAM};
	int error = network_enter(true);

	errno = -error;
	sockets->failed = error ? "entering the peer network namespace" : become(request, work);
	sockets->error = errno;
	for (int i = 0; !sockets->failed && i < 4 * PEER_SOCKETS; i++) {
		int family = families[i / 2 % 2], type = types[i % 2];

		places(family, type)[i / 4] = (int)sys4(SYS_socket, family, type, 0, 0);
	}
	_exit(0);
}

const char *peer_open(const struct request *request, const char *work)
{
	int error = network_join();
	long pid;

	lacking = error;
	sockets = mmap(NULL, sizeof(*sockets), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (sockets == MAP_FAILED)
		return "sharing the descriptors of the peer network namespace";
	for (int i = 0; i < 4 * PEER_SOCKETS; i++)
		sockets->fd[i / 2 % 2][i % 2][i / 4] = error ? error : -ECHILD;
	if (error) /* the benchmark says that it cannot be measured */
		return NULL;
	pid = sys4(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0);
	if (!pid)
		make_and_exit(request, work);
	if (pid > 0)
		sys4(SYS_wait4, pid, 0, 0, 0);
	errno = sockets->error;
	return pid < 0 ? "starting a process in the peer network namespace" : sockets->failed;
}

bool peer_missing(void)
{
	return lacking;
}

int peer_socket(int family, int type)
{
	int *fd = places(family, type), taken = -EBADF;

	for (int i = 0; i < PEER_SOCKETS && taken == -EBADF; i++) {
		taken = fd[i];
		fd[i] = -EBADF;
	}
	return taken;
}

void peer_close(void)
{
	for (int i = 0; sockets && i < 4 * PEER_SOCKETS; i++) {
		int fd = sockets->fd[i / 2 % 2][i % 2][i / 4];

		if (fd >= 0)
			sys_close(fd);
	}
}
