// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/baseline.h"

#include "arch/sys.h"
#include "net/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * Two ports, above those that the kernel has given out so far: who connects is given the first,
 * who binds the second. Where a connection's first number lies depends on its port, and what is
 * done about it in ops/net.c on its being the same one.
 */
#define RANGE	   "/proc/sys/net/ipv4/ip_local_port_range"
#define PORTS	   "61000 61001"
#define ALIVE_PORT 61002

static int narrow_ports(bool in_peer)
{
	int error = network_enter(in_peer), fd;
	long n;

	if (error)
		return error;
	fd = sys_open(RANGE, O_WRONLY | O_CLOEXEC, 0);
	n = fd < 0 ? fd : sys_write(fd, PORTS, strlen(PORTS));
	if (fd >= 0)
		sys_close(fd);
	error = in_peer ? network_enter(false) : 0;
	return n < 0 ? (int)n : error;
}

static long set(int fd, int level, int option)
{
	static const int one = 1;

	return sys6(SYS_setsockopt, fd, level, option, (long)&one, sizeof(one), 0);
}

/*
 * A connection that looks each second whether its other end is there. So there is always a timer
 * of the kernel's that ends within a second, and none of TCP's own, which take a second, is the
 * next of all to end: that costs 9 instructions, and every other second there would be no other.
 */
static int keep_timer(void)
{
	struct inet_address address = network_loopback(AF_INET);
	int listening = (int)sys4(SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0, 0), fd;
	long error;

	address.v4.sin_port = htons(ALIVE_PORT);
	listening = network_bind(listening, &address);
	if (listening < 0)
		return listening;
	fd = (int)sys4(SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0, 0);
	error = sys4(SYS_listen, listening, 1, 0, 0);
	if (!error)
		error = set(fd, IPPROTO_TCP, TCP_KEEPIDLE);
	if (!error)
		error = set(fd, IPPROTO_TCP, TCP_KEEPINTVL);
	if (!error)
		error = set(fd, SOL_SOCKET, SO_KEEPALIVE);
	if (!error)
		error = sys4(SYS_connect, fd, (long)&address, address.size, 0);
	if (!error)
		error = sys4(SYS_accept4, listening, 0, 0, SOCK_CLOEXEC);
	sys_close(listening);
	return error < 0 ? (int)error : 0;
}

static _Noreturn void keep(int answer)
{
	int error;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	error = keep_timer();
	if (write(answer, &error, sizeof(error)) != sizeof(error))
		_exit(1);
	close(answer);
	for (;;)
		pause();
}

static bool made;

bool network_baseline(void)
{
	return made;
}

int network_baseline_set(void)
{
	int ends[2], error;
	pid_t pid;

	if (!network_joined())
		return 0;
	if (pipe(ends))
		return -errno;
	pid = fork();
	if (pid == 0)
		keep(ends[1]);
	close(ends[1]);
	if (pid < 0 || read(ends[0], &error, sizeof(error)) != sizeof(error))
		error = -EIO;
	close(ends[0]);
	if (!error)
		error = narrow_ports(true);
	if (!error)
		error = narrow_ports(false);
	made = !error;
	return error;
}
