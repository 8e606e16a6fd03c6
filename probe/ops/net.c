// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The suite `net`: UDP and TCP on the loopback device, and between two network namespaces. A
 * transfer is made and taken by one process; a `-turn` goes to another process and back.
 */
#include "layout/own_memory.h"
#include "ops/inet.h"
#include "ops/peer.h"
#include "ops/peersec.h"

#include <linux/netlink.h>
#include <netinet/tcp.h>
#include <sys/uio.h>

#define SUITE "net"

ROWS();

static char data[16384] BULK;
static struct inet_address server, client;

static int close_both(struct bench *bench)
{
	peer_stop_all();
	sys_close(bench->fd[0]);
	return sys_close(bench->fd[1]);
}

/* Two sockets that know each other; fd[0] takes what fd[1] sends. */
static int udp_setup(struct bench *bench)
{
	long error;

	bench->fd[0] = inet_end(bench->variant, SOCK_DGRAM, true, &server);
	if (bench->fd[0] < 0)
		return bench->fd[0];
	bench->fd[1] = inet_end(bench->variant, SOCK_DGRAM, false, &client);
	if (bench->fd[1] < 0)
		return bench->fd[1];
	error = sys4(SYS_connect, bench->fd[1], (long)&server, server.size, 0);
	return (int)(error ? error
			   : sys4(SYS_connect, bench->fd[0], (long)&client, client.size, 0));
}

static int tcp_setup(struct bench *bench)
{
	int listening = inet_listen(bench->variant, 0, &server);
	long error;

	if (listening < 0)
		return listening;
	bench->fd[1] = (int)sys4(SYS_socket, INET_FAMILY(bench->variant), SOCK_STREAM, 0, 0);
	error = sys4(SYS_connect, bench->fd[1], (long)&server, server.size, 0);
	if (error)
		return (int)error;
	bench->fd[0] = (int)sys4(SYS_accept, listening, 0, 0, 0);
	sys_close(listening);
	for (int i = 0; i < 2; i++) {
		inet_option(bench->fd[i], IPPROTO_TCP, TCP_NODELAY, 1);
		/* The next connection may have the same ports (net/baseline.h). */
		inet_reset_at_close(bench->fd[i]);
	}
	return bench->fd[0] < 0 ? bench->fd[0] : 0;
}

static int transfer_arm(struct bench *bench)
{
	long size = INET_BYTES(bench->variant);

	bench->call[0] = (struct call){
		.nr = SYS_write, .arg = {bench->fd[1], (long)data, size}, .want = size};
	bench->call[1] = bench->call[0];
	bench->call[1].nr = SYS_read;
	bench->call[1].arg[0] = bench->fd[0];
	bench->first = 0;
	TWO_CALLS(bench);
	return 0;
}

#define OVER(what) .setup = what##_setup, .teardown = close_both, .network = true, .needs = "IP"

#define udp_arm transfer_arm
#define tcp_arm transfer_arm
VARIANTS(udp, BY_IP_AND_SIZE("send and receive a UDP datagram"));
DEFINE_OP(udp, "udp", OVER(udp));
VARIANTS(tcp, BY_IP_AND_SIZE("send and receive by TCP a piece"));
DEFINE_OP(tcp, "tcp", .settles = true, OVER(tcp));

/* sendmsg and recvmsg, by size. */
static struct iovec vector = {.iov_base = data};
static struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};

static int msg_arm(struct bench *bench)
{
	transfer_arm(bench);
	vector.iov_len = (size_t)INET_BYTES(bench->variant);
	bench->call[0].nr = SYS_sendmsg;
	bench->call[1].nr = SYS_recvmsg;
	for (int i = 0; i < 2; i++) {
		bench->call[i].arg[1] = (long)&message;
		bench->call[i].arg[2] = 0;
	}
	return 0;
}
VARIANTS(msg, BY_SIZE(4, 1, "sendmsg and recvmsg of a UDP datagram"),
	 BY_SIZE(4, 1024, "sendmsg and recvmsg of a UDP datagram"),
	 BY_SIZE(4, 16384, "sendmsg and recvmsg of a UDP datagram"));
DEFINE_OP(msg, "udp-message", OVER(udp));

/* A byte to another process and back. */
static int echo_at = -1;

static void echo(long number)
{
	(void)number;
	while (sys4(SYS_read, echo_at, (long)data, 1, 0) == 1 && sys_write(echo_at, data, 1) == 1)
		;
}

static int echoed(struct bench *bench, int error)
{
	echo_at = bench->fd[0];
	if (!error)
		error = peer_batch();
	return error ? error : peer_start(echo, 0);
}

static int udp_turn_setup(struct bench *bench)
{
	return echoed(bench, udp_setup(bench));
}

static int tcp_turn_setup(struct bench *bench)
{
	return echoed(bench, tcp_setup(bench));
}

static int turn_arm(struct bench *bench)
{
	transfer_arm(bench);
	bench->call[1].arg[0] = bench->fd[1];
	return 0;
}

#define udp_turn_arm turn_arm
#define tcp_turn_arm turn_arm
VARIANTS(udp_turn, BY_IP("a byte to another process and back by UDP"));
DEFINE_OP(udp_turn, "udp-turn", .settles = true, .processes = true, OVER(udp_turn));
VARIANTS(tcp_turn, BY_IP("a byte to another process and back by TCP"));
DEFINE_OP(tcp_turn, "tcp-turn", .settles = true, .processes = true, OVER(tcp_turn));

/* Making sockets: value is family, then type, then protocol. */
#define KIND(family, type, protocol) ((family) | (type) << 8 | (protocol) << 16)

static int socket_setup(struct bench *bench)
{
	long kind = bench->variant->value;
	long fd = sys4(SYS_socket, kind & 0xff, kind >> 8 & 0xff, kind >> 16, 0);

	return fd < 0 ? (int)fd : sys_close((int)fd);
}

static int socket_arm(struct bench *bench)
{
	long kind = bench->variant->value;

	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_socket,
				  .arg = {kind & 0xff, kind >> 8 & 0xff, kind >> 16},
				  .expect = EXPECT_FD});
	push(bench, CLOSE_OF(0));
	region_from(bench, 0);
	return 0;
}
VARIANTS(socket, VARIANT("type=tcp", "make and close a TCP socket", KIND(AF_INET, SOCK_STREAM, 0)),
	 VARIANT("type=tcp6", "make and close a TCP socket (IPv6)", KIND(AF_INET6, SOCK_STREAM, 0)),
	 VARIANT("type=udp", "make and close a UDP socket", KIND(AF_INET, SOCK_DGRAM, 0)),
	 VARIANT("type=netlink", "make and close a netlink socket",
		 KIND(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE)));
DEFINE_OP(socket, "socket", .settles = true, .setup = socket_setup, .run = run_in_row,
	  .network = true, .needs = "socket of this kind");

VARIANTS(raw, VARIANT("", "make and close a raw socket", KIND(AF_INET, SOCK_RAW, IPPROTO_ICMP)));
#define raw_arm socket_arm
DEFINE_OP(raw, "socket-raw", .settles = true, .setup = socket_setup, .run = run_in_row,
	  .network = true, .privileged = true, .needs = "socket of this kind");

/* bind and listen of a new socket. */
static int bind_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_socket,
				  .arg = {INET_FAMILY(bench->variant), SOCK_STREAM},
				  .expect = EXPECT_FD});
	push(bench,
	     (struct call){.nr = SYS_bind, .arg = {0, (long)&server, server.size}, .fd_from = 1});
	region_from(bench, 1);
	push(bench, CLOSE_OF(0));
	return 0;
}

/* Port 0: the kernel chooses; always the same one, which was free before. */
static int bind_setup(struct bench *bench)
{
	int fd = inet_end(bench->variant, SOCK_STREAM, false, &server);

	return fd < 0 ? fd : sys_close(fd);
}
VARIANTS(bind, BY_IP_HERE("bind a TCP socket to a port"));
DEFINE_OP(bind, "bind", .setup = bind_setup, .network = true, .needs = "IP");

static int listen_arm(struct bench *bench)
{
	bind_arm(bench);
	bench->length--;
	push(bench, (struct call){.nr = SYS_listen, .arg = {0, 8}, .fd_from = 1});
	region_from(bench, 2);
	push(bench, CLOSE_OF(0));
	return 0;
}
VARIANTS(listen, BY_IP_HERE("listen on a TCP socket"));
DEFINE_OP(listen, "listen", .setup = bind_setup, .network = true, .needs = "IP");

/* What a connected socket is asked and told. */
static int option, option_bytes = sizeof(option), name_bytes;
static struct inet_address name;

static int setsockopt_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_setsockopt,
					.arg = {bench->fd[1], SOL_SOCKET, SO_KEEPALIVE,
						(long)&option, sizeof(option)}});
}
ALONE(setsockopt, "setsockopt of a TCP socket");
DEFINE_OP(setsockopt, "setsockopt", .run = run_in_row, OVER(tcp));

static int getsockopt_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_getsockopt,
					.arg = {bench->fd[1], SOL_SOCKET, SO_TYPE, (long)&option,
						(long)&option_bytes}});
}
ALONE(getsockopt, "getsockopt of a TCP socket");
DEFINE_OP(getsockopt, "getsockopt", .run = run_in_row, OVER(tcp));

static int name_before(struct bench *bench)
{
	(void)bench;
	name_bytes = sizeof(name);
	return 0;
}

static int getsockname_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_getsockname,
					.arg = {bench->fd[1], (long)&name, (long)&name_bytes}});
}
ALONE(getsockname, "getsockname of a TCP socket");
DEFINE_OP(getsockname, "getsockname", .before = name_before, OVER(tcp));

static int getpeername_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_getpeername,
					.arg = {bench->fd[1], (long)&name, (long)&name_bytes}});
}
ALONE(getpeername, "getpeername of a TCP socket");
DEFINE_OP(getpeername, "getpeername", .before = name_before, OVER(tcp));

/* Packets carry a label only where the setup has them carry one. */
static int peersec_setup(struct bench *bench)
{
	int error = tcp_setup(bench);

	return peersec_try(error, bench->fd[1]);
}

static int peersec_arm(struct bench *bench)
{
	return peersec_ask(bench, bench->fd[1]);
}
#define PEERSEC "getsockopt: the label of the other end of a TCP connection"
VARIANTS(peersec, VARIANT("", PEERSEC, INET(4, 1)), VIA_VETH("ip=4", PEERSEC, INET(4, 1)));
DEFINE_OP(peersec, "tcp-peersec", .setup = peersec_setup, .teardown = close_both,
	  .run = peersec_run, .network = true, .needs = "label of a connection's peer");
