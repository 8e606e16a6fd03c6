// SPDX-License-Identifier: GPL-2.0-or-later
/* The suite `net`: connections by TCP, each of which is made, taken and closed in one reading. */
#include "net/baseline.h"
#include "ops/inet.h"

#include <linux/tcp.h>
#include <time.h>

#define SUITE "net"

static struct inet_address server;

/* The number of the next byte that this socket would send; 0 where that may not be asked. */
static uint32_t next_number(int fd)
{
	uint32_t number = 0;
	int bytes = sizeof(number);

	if (inet_option(fd, IPPROTO_TCP, TCP_REPAIR, TCP_REPAIR_ON))
		return 0;
	inet_option(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, TCP_SEND_QUEUE);
	if (sys6(SYS_getsockopt, fd, IPPROTO_TCP, TCP_QUEUE_SEQ, (long)&number, (long)&bytes, 0))
		number = 0;
	inet_option(fd, IPPROTO_TCP, TCP_REPAIR, TCP_REPAIR_OFF_NO_WP);
	return number;
}

/* Once, and whether the setup lets these two be connected; the first number of a connection. */
static int connect_once(struct bench *bench, uint32_t *first)
{
	int fd = (int)sys4(SYS_socket, INET_FAMILY(bench->variant), SOCK_STREAM, 0, 0);
	long error;

	if (fd < 0)
		return fd;
	inet_reset_at_close(fd);
	error = sys4(SYS_connect, fd, (long)&server, server.size, 0);
	if (!error) {
		int other = (int)sys4(SYS_accept, bench->fd[0], 0, 0, 0);

		*first = next_number(fd);
		sys_close(fd);
		return other < 0 ? other : sys_close(other);
	}
	sys_close(fd);
	return (int)error;
}

/*
 * What a connection takes depends on who listens, by some instructions: on the port, with which
 * the first number of its bytes goes, and on where the socket lies that is copied. So there are
 * some that listen; of those with low numbers, which 16 million a second are added to, a
 * connection takes least with one. The others stay where they are.
 */
#define LISTENING  PEER_SOCKETS
#define LOW_NUMBER (UINT32_MAX / 2 - UINT32_MAX / 16)
#define FIRST_PORT 20000
#define SPARE_PORT 30000
#define TRIES	   3 /* of each */

/* By the counter, twice 50 instructions of 16 ns. */
#define EDGE	    (100 << 4)
#define LEAST_SPARE 6
#define MOST_SPARE  16

static int listens[LISTENING], listening;
static struct inet_address address[LISTENING];

static void insert(uint64_t *sorted, int count, uint64_t value)
{
	for (; count > 0 && sorted[count - 1] > value; count--)
		sorted[count] = sorted[count - 1];
	sorted[count] = value;
}

/* Of the tries in a row every other one has the same sockets: the medians of both, together. */
static uint64_t cost_of_connecting(struct bench *bench)
{
	/* RCU gives sockets' inodes back meanwhile, as between readings. */
	static const struct timespec rest = {.tv_nsec = 40000000};
	uint64_t took[2][TRIES];

	for (int i = 0; i < 2 * TRIES; i++) {
		uint64_t before;

		bench->op->arm(bench);
		sys4(SYS_nanosleep, (long)&rest, 0, 0, 0);
		before = counter_now();
		run_in_row(bench);
		insert(took[i % 2], i / 2, counter_now() - before);
	}
	return took[0][TRIES / 2] + took[1][TRIES / 2];
}

/* One of each object that a connection takes, for good. */
static bool take_spare(struct bench *bench, int number)
{
	static const char byte;
	struct inet_address address;
	int ends[2];

	if (inet_end_at(bench->variant, SOCK_STREAM, false, SPARE_PORT + number, &address) < 0)
		return false;
	return !sys4(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, (long)ends) &&
	       sys_write(ends[0], &byte, 1) == 1;
}

/*
 * Where a slab ends between two objects of a kind that each connection takes, every one pays for
 * going from this slab to the next and back, 280 instructions: take some of them out of the way.
 */
static void leave_edges(struct bench *bench)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < MOST_SPARE; i++) {
		uint64_t cost = cost_of_connecting(bench);

		if (cost < least)
			least = cost;
		if ((i >= LEAST_SPARE && cost < least + EDGE) || !take_spare(bench, i))
			break;
	}
}

/* Have this one listen from now on. */
static void choose(struct bench *bench, int number)
{
	bench->fd[0] = listens[number];
	server = address[number];
}

static int listen_at(struct bench *bench, int number, int port, uint32_t *first)
{
	listens[number] = bench->fd[0] = inet_listen(bench->variant, port, &server);
	address[number] = server;
	return bench->fd[0] < 0 ? bench->fd[0] : connect_once(bench, first);
}

/* How many listen, or -errno; one where others may have the ports, or they may not be chosen. */
static int listen_all(struct bench *bench, uint32_t *first)
{
	int error;

	listening = 0;
	while (network_baseline() && !bench->copy && listening < LISTENING &&
	       !listen_at(bench, listening, FIRST_PORT + listening, &first[listening]))
		listening++;
	if (listening)
		return 0;
	error = listen_at(bench, 0, 0, first);
	listening = !error;
	return error;
}

static int connect_setup(struct bench *bench)
{
	uint32_t first[LISTENING];
	uint64_t least = UINT64_MAX;
	int best = 0, error = listen_all(bench, first);

	if (error || listening == 1)
		return error;
	choose(bench, 0);
	leave_edges(bench);
	/* Sockets for connections are the same ones from here on. */
	for (int i = 0; i < listening; i++) {
		uint64_t cost;

		if (first[i] > LOW_NUMBER)
			continue;
		choose(bench, i);
		cost = cost_of_connecting(bench);
		if (cost < least) {
			least = cost;
			best = i;
		}
	}
	choose(bench, best);
	return 0;
}

static int connect_arm(struct bench *bench)
{
	inet_connect_cycle(bench, INET_FAMILY(bench->variant), 0, &server);
	return 0;
}

static int close_all(struct bench *bench)
{
	(void)bench;
	for (int i = 0; i < listening; i++)
		sys_close(listens[i]);
	return 0;
}
VARIANTS(connect, BY_IP("socket, connect, accept, close both by TCP"));
DEFINE_OP(connect, "tcp-connect", .settles = true, .setup = connect_setup, .teardown = close_all,
	  .run = run_in_row, .network = true, .needs = "IP");

/* Shutting down, on a new pair each time. */
static int shutdown_arm(struct bench *bench)
{
	connect_arm(bench);
	bench->call[5] = bench->call[4];
	bench->call[4] = (struct call){.nr = SYS_shutdown, .arg = {0, SHUT_WR}, .fd_from = 1};
	bench->length = 6;
	push(bench, CLOSE_OF(3));
	bench->first = 0;
	bench->calls = 7;
	return 0;
}
#define SHUTDOWN "socket, connect, accept, shutdown, close both by TCP"
VARIANTS(shutdown, VARIANT("", SHUTDOWN, INET(4, 1)), VIA_VETH("ip=4", SHUTDOWN, INET(4, 1)));
DEFINE_OP(shutdown, "tcp-shutdown", .settles = true, .setup = connect_setup, .teardown = close_all,
	  .run = run_in_row, .network = true, .needs = "IP");
