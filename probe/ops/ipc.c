// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The suite `ipc`: pipes and sockets of the kind AF_UNIX. A transfer is made and
 * taken by one process; a `-turn` goes to another process and back.
 */
#include "layout/own_memory.h"
#include "ops/define.h"
#include "ops/peer.h"
#include "ops/peersec.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#define SUITE	   "ipc"
#define MOST_BYTES 65536

ROWS();

static char data[MOST_BYTES] BULK;
static int to_peer[2], from_peer[2];

/* So many bytes from one end to the other, by the same process. */
static int transfer_arm(struct bench *bench)
{
	long size = bench->variant->value;

	bench->call[0] = (struct call){
		.nr = SYS_write, .arg = {bench->fd[1], (long)data, size}, .want = size};
	bench->call[1] = bench->call[0];
	bench->call[1].nr = SYS_read;
	bench->call[1].arg[0] = bench->fd[0];
	bench->first = 0;
	TWO_CALLS(bench);
	return 0;
}

static int pipe_setup(struct bench *bench)
{
	return (int)sys4(AS_PIPE(bench->fd));
}

static int close_both(struct bench *bench)
{
	sys_close(bench->fd[0]);
	return sys_close(bench->fd[1]);
}

#define SIZE(bytes, text) VARIANT("size=" #bytes, text " of " #bytes " bytes", bytes)
#define SIZES(text)	  SIZE(1, text), SIZE(512, text), SIZE(4096, text), SIZE(65536, text)

#define pipe_arm transfer_arm
VARIANTS(pipe, SIZES("write and read of a pipe"));
DEFINE_OP(pipe, "pipe", .setup = pipe_setup, .teardown = close_both);

static int pair(int type, int *ends)
{
	return (int)sys4(SYS_socketpair, AF_UNIX, type, 0, (long)ends);
}

/* Room for the largest transfer; the kernel doubles what it is told. */
static int with_room(const int *ends)
{
	static const int bytes = 2 * MOST_BYTES;
	long error = 0;

	for (int i = 0; i < 2 && !error; i++)
		error = sys6(SYS_setsockopt, ends[i], SOL_SOCKET, SO_SNDBUF, (long)&bytes,
			     sizeof(bytes), 0);
	return (int)error;
}

static int stream_setup(struct bench *bench)
{
	int error = pair(SOCK_STREAM, bench->fd);

	return error ? error : with_room(bench->fd);
}

static int dgram_setup(struct bench *bench)
{
	int error = pair(SOCK_DGRAM, bench->fd);

	return error ? error : with_room(bench->fd);
}

#define stream_arm transfer_arm
VARIANTS(stream, SIZES("write and read of a pair of stream sockets"));
DEFINE_OP(stream, "unix-stream", .setup = stream_setup, .teardown = close_both, .needs = "AF_UNIX");

#define dgram_arm transfer_arm
VARIANTS(dgram, SIZES("write and read of a pair of datagram sockets"));
DEFINE_OP(dgram, "unix-dgram", .setup = dgram_setup, .teardown = close_both, .needs = "AF_UNIX");

/* A byte to another process, which sends it back. */
static void echo(long number)
{
	(void)number;
	while (sys4(SYS_read, to_peer[0], (long)data, 1, 0) == 1 &&
	       sys_write(from_peer[1], data, 1) == 1)
		;
}

static int turn_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_write, .arg = {to_peer[1], (long)data, 1}, .want = 1});
	push(bench, (struct call){.nr = SYS_read, .arg = {from_peer[0], (long)data, 1}, .want = 1});
	region_from(bench, 0);
	return 0;
}

static int turn_teardown(struct bench *bench)
{
	(void)bench;
	peer_stop_all();
	for (int i = 0; i < 2; i++) {
		sys_close(to_peer[i]);
		sys_close(from_peer[i]);
	}
	return 0;
}

/* value: 0 for pipes, or the kind of socket. */
static int turn_setup(struct bench *bench)
{
	long kind = bench->variant->value;
	int error = kind ? pair((int)kind, to_peer) : (int)sys4(AS_PIPE(to_peer));

	if (!error)
		error = kind ? pair((int)kind, from_peer) : (int)sys4(AS_PIPE(from_peer));
	if (!error)
		error = peer_batch();
	return error ? error : peer_start(echo, 0);
}
VARIANTS(turn, VARIANT("by=pipe", "a byte to another process and back, by pipes", 0),
	 VARIANT("by=unix-stream", "a byte to another process and back, by stream sockets",
		 SOCK_STREAM),
	 VARIANT("by=unix-dgram", "a byte to another process and back, by datagram sockets",
		 SOCK_DGRAM));
DEFINE_OP(turn, "turn", .settles = true, .processes = true, .setup = turn_setup,
	  .teardown = turn_teardown, .needs = "AF_UNIX");

/* The pair itself. */
static int socketpair_arm(struct bench *bench)
{
	static int ends[2];

	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_socketpair,
				  .arg = {AF_UNIX, bench->variant->value, 0, (long)ends}});
	push(bench, (struct call){.nr = SYS_close});
	push(bench, (struct call){.nr = SYS_close});
	region_from(bench, 0);
	return 0;
}

static void socketpair_run(struct bench *bench)
{
	const int *ends = (const int *)bench->call[0].arg[3];

	call_all(&bench->call[0]);
	for (int i = 0; i < 2; i++) {
		bench->call[1 + i].arg[0] = ends[i];
		call_all(&bench->call[1 + i]);
	}
}
VARIANTS(socketpair, VARIANT("type=stream", "make and close a pair of stream sockets", SOCK_STREAM),
	 VARIANT("type=dgram", "make and close a pair of datagram sockets", SOCK_DGRAM));
DEFINE_OP(socketpair, "socketpair", .settles = true, .setup = stream_setup, .teardown = close_both,
	  .run = socketpair_run, .needs = "AF_UNIX");

/* A socket with a name in the directory: connect, accept, close both. */
static struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};

static int listen_setup(struct bench *bench)
{
	long error;

	bench->fd[0] = (int)sys4(SYS_socket, AF_UNIX, SOCK_STREAM, 0, 0);
	if (bench->fd[0] < 0)
		return bench->fd[0];
	error = sys4(SYS_bind, bench->fd[0], (long)&address, sizeof(address), 0);
	return (int)(error ? error : sys4(SYS_listen, bench->fd[0], 8, 0, 0));
}

static int connect_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench,
	     (struct call){.nr = SYS_socket, .arg = {AF_UNIX, SOCK_STREAM}, .expect = EXPECT_FD});
	push(bench, (struct call){.nr = SYS_connect,
				  .arg = {0, (long)&address, sizeof(address)},
				  .fd_from = 1});
	push(bench, (struct call){.nr = SYS_accept, .arg = {bench->fd[0]}, .expect = EXPECT_FD});
	push(bench, CLOSE_OF(0));
	push(bench, CLOSE_OF(2));
	region_from(bench, 0);
	return 0;
}
ALONE(connect, "socket, connect by a name, accept, close both");
DEFINE_OP(connect, "unix-connect", .settles = true, .setup = listen_setup, .run = run_in_row,
	  .components = 1, .needs = "AF_UNIX");

/* A descriptor through a socket; the copy is closed. */
static union {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
} control;
static struct iovec vector = {.iov_base = data, .iov_len = 1};
static struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control};

static int pass_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench,
	     (struct call){.nr = SYS_sendmsg, .arg = {bench->fd[1], (long)&message}, .want = 1});
	push(bench,
	     (struct call){.nr = SYS_recvmsg, .arg = {bench->fd[0], (long)&message}, .want = 1});
	push(bench, (struct call){.nr = SYS_close});
	region_from(bench, 0);
	return 0;
}

static void pass_run(struct bench *bench)
{
	int *descriptor = (int *)(void *)CMSG_DATA(&control.header);

	control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
					  .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS};
	*descriptor = bench->fd[0];
	message.msg_controllen = sizeof(control);
	call_all(&bench->call[0]);
	message.msg_controllen = sizeof(control);
	call_all(&bench->call[1]);
	bench->call[2].arg[0] = *descriptor;
	call_all(&bench->call[2]);
}
ALONE(pass, "pass a descriptor, and close what came");
DEFINE_OP(pass, "unix-pass", .setup = stream_setup, .run = pass_run, .teardown = close_both,
	  .needs = "AF_UNIX");

/* The label of who sent a message, with the message. */
static union {
	struct cmsghdr header;
	char room[512];
} labelled;
static struct msghdr with_label = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = &labelled};

static int passsec_setup(struct bench *bench)
{
	static const int on = 1;
	long error = dgram_setup(bench);

	if (!error)
		error = sys6(SYS_setsockopt, bench->fd[0], SOL_SOCKET, SO_PASSSEC, (long)&on,
			     sizeof(on), 0);
	return (int)error;
}

static int passsec_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench,
	     (struct call){.nr = SYS_write, .arg = {bench->fd[1], (long)data, 1}, .want = 1});
	push(bench,
	     (struct call){.nr = SYS_recvmsg, .arg = {bench->fd[0], (long)&with_label}, .want = 1});
	region_from(bench, 0);
	return 0;
}

static void passsec_run(struct bench *bench)
{
	with_label.msg_controllen = sizeof(labelled);
	run_in_row(bench);
}
ALONE(passsec, "a datagram with the label of who sent it");
DEFINE_OP(passsec, "unix-passsec", .setup = passsec_setup, .run = passsec_run,
	  .teardown = close_both, .needs = "AF_UNIX");

static struct ucred peer_is;
static int peer_is_bytes = sizeof(peer_is);

static int cred_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_getsockopt,
					.arg = {bench->fd[0], SOL_SOCKET, SO_PEERCRED,
						(long)&peer_is, (long)&peer_is_bytes}});
}
ALONE(cred, "getsockopt: which process is at the other end");
DEFINE_OP(cred, "unix-peercred", .setup = stream_setup, .run = run_in_row, .teardown = close_both,
	  .needs = "AF_UNIX");

static int peersec_setup(struct bench *bench)
{
	int error = stream_setup(bench);

	return peersec_try(error, bench->fd[0]);
}

static int peersec_arm(struct bench *bench)
{
	return peersec_ask(bench, bench->fd[0]);
}
ALONE(peersec, "getsockopt: the label of the process at the other end");
DEFINE_OP(peersec, "unix-peersec", .setup = peersec_setup, .run = peersec_run,
	  .teardown = close_both, .needs = "label of a socket's peer");
