// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Descriptors of what has no name, as they are made; and the first use of a socket, which a module
 * may look at more closely than at all later ones.
 */
#include "ops/define.h"

#include <sys/socket.h>
#include <time.h>

#define SUITE "ipc"

enum kind { EVENTFD, EPOLL, TIMERFD, SIGNALFD };

static const struct call kinds[] = {
	[EVENTFD] = {.nr = SYS_eventfd2, .expect = EXPECT_FD},
	[EPOLL] = {.nr = SYS_epoll_create1, .expect = EXPECT_FD},
	[TIMERFD] = {.nr = SYS_timerfd_create, .arg = {CLOCK_MONOTONIC}, .expect = EXPECT_FD},
	[SIGNALFD] = {.nr = SYS_signalfd4, .arg = {-1, 0, 8}, .expect = EXPECT_FD},
};
static unsigned long no_signals;

static struct call making(const struct bench *bench)
{
	struct call call = kinds[bench->variant->value];

	if (bench->variant->value == SIGNALFD)
		call.arg[1] = (long)&no_signals;
	return call;
}

static int made_setup(struct bench *bench)
{
	struct call call = making(bench);
	long fd = sys4(call.nr, call.arg[0], call.arg[1], call.arg[2], 0);

	return fd < 0 ? (int)fd : sys_close((int)fd);
}

static int made_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, making(bench));
	push(bench, CLOSE_OF(0));
	region_from(bench, 0);
	return 0;
}
VARIANTS(made, VARIANT("kind=eventfd", "make and close an eventfd", EVENTFD),
	 VARIANT("kind=epoll", "make and close an epoll descriptor", EPOLL),
	 VARIANT("kind=timerfd", "make and close a timerfd", TIMERFD),
	 VARIANT("kind=signalfd", "make and close a signalfd", SIGNALFD));
DEFINE_OP(made, "descriptor", .settles = true, .setup = made_setup, .run = run_in_row,
	  .needs = "descriptor of this kind");

/* Two ends, whose numbers the first call writes: closed at the end, used in between where asked. */
static int ends[2];
static char byte;

static int two_setup(struct bench *bench)
{
	(void)bench;
	return 0;
}

static void two_close(struct bench *bench, unsigned int from)
{
	for (unsigned int i = 0; i < 2; i++) {
		bench->call[from + i].arg[0] = ends[i];
		call_all(&bench->call[from + i]);
	}
}

static int pipe_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_pipe2, .arg = {(long)ends, 0}});
	push(bench, (struct call){.nr = SYS_close});
	push(bench, (struct call){.nr = SYS_close});
	region_from(bench, 0);
	return 0;
}

static void pipe_run(struct bench *bench)
{
	call_all(&bench->call[0]);
	two_close(bench, 1);
}
ALONE(pipe, "make a pipe and close both ends");
DEFINE_OP(pipe, "pipe-make", .settles = true, .setup = two_setup, .run = pipe_run);

static int used_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench,
	     (struct call){.nr = SYS_socketpair, .arg = {AF_UNIX, SOCK_STREAM, 0, (long)ends}});
	push(bench, (struct call){.nr = SYS_write, .arg = {0, (long)&byte, 1}, .want = 1});
	push(bench, (struct call){.nr = SYS_read, .arg = {0, (long)&byte, 1}, .want = 1});
	push(bench, (struct call){.nr = SYS_close});
	push(bench, (struct call){.nr = SYS_close});
	region_from(bench, 0);
	return 0;
}

static void used_run(struct bench *bench)
{
	call_all(&bench->call[0]);
	bench->call[1].arg[0] = ends[1];
	bench->call[2].arg[0] = ends[0];
	call_all(&bench->call[1]);
	call_all(&bench->call[2]);
	two_close(bench, 3);
}

/*
 * Tried once: without AF_UNIX the call fails, the ends stay 0, and a read of the standard input
 * waits for ever.
 */
static int used_setup(struct bench *bench)
{
	int error = (int)sys4(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, (long)ends);

	(void)bench;
	if (!error) {
		sys_close(ends[0]);
		sys_close(ends[1]);
	}
	return error;
}
ALONE(used, "make a pair of stream sockets, write and read a byte, close both");
DEFINE_OP(used, "socketpair-used", .settles = true, .setup = used_setup, .run = used_run,
	  .needs = "AF_UNIX");
