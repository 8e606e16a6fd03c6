// SPDX-License-Identifier: GPL-2.0-or-later
/* The suite `net`: SCTP and Multipath TCP on the loopback device. */
#include "ops/inet.h"

#define SUITE "net"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#define SCTP_BIND_ADD 100 /* SCTP_SOCKOPT_BINDX_ADD */

static struct inet_address server;

static int listening(struct bench *bench, int protocol)
{
	int fd = (int)sys4(SYS_socket, AF_INET, SOCK_STREAM, protocol, 0);
	long error;

	server = network_loopback(AF_INET);
	bench->fd[0] = network_bind(fd, &server);
	if (bench->fd[0] < 0)
		return bench->fd[0];
	error = sys4(SYS_listen, bench->fd[0], 64, 0, 0);
	return (int)error;
}

static int connect_setup(struct bench *bench)
{
	return listening(bench, (int)bench->variant->value);
}

static int connect_arm(struct bench *bench)
{
	inet_connect_cycle(bench, AF_INET, bench->variant->value, &server);
	return 0;
}

static int close_one(struct bench *bench)
{
	return sys_close(bench->fd[0]);
}

VARIANTS(connect, VARIANT("by=sctp", "socket, connect, accept, close both by SCTP", IPPROTO_SCTP),
	 VARIANT("by=mptcp", "socket, connect, accept, close both by Multipath TCP",
		 IPPROTO_MPTCP));
DEFINE_OP(connect, "connect", .settles = true, .setup = connect_setup, .teardown = close_one,
	  .run = run_in_row, .network = true, .needs = "protocol of this name");

/* Another address for a socket of SCTP. */
static int bind_setup(struct bench *bench)
{
	int error = listening(bench, IPPROTO_SCTP);

	if (error >= 0)
		sys_close(bench->fd[0]);
	return error;
}

static int bind_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_socket,
				  .arg = {AF_INET, SOCK_STREAM, IPPROTO_SCTP},
				  .expect = EXPECT_FD});
	push(bench,
	     (struct call){.nr = SYS_setsockopt,
			   .arg = {0, IPPROTO_SCTP, SCTP_BIND_ADD, (long)&server, server.size},
			   .fd_from = 1});
	push(bench, CLOSE_OF(0));
	region_from(bench, 0);
	return 0;
}
ALONE(bind, "socket, bind to one more address, close by SCTP");
DEFINE_OP(bind, "sctp-bind", .settles = true, .setup = bind_setup, .run = run_in_row,
	  .network = true, .needs = "SCTP");
