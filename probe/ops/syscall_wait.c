// SPDX-License-Identifier: GPL-2.0-or-later
/* The suite `syscall`: waiting on many descriptors, all of which are ready (eventfd). */
#include "ops/define.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#define SUITE	 "syscall"
#define MOST_FDS 500
#define FIRST_FD 64 /* select looks at each bit up to the highest descriptor, by words of 64 */

static struct pollfd polled[MOST_FDS];
static struct epoll_event events[MOST_FDS];
static fd_set asked, given;
static struct timeval at_once;
static int highest;

static int many_setup(struct bench *bench)
{
	long count = bench->variant->value, error = 0;

	bench->fd[0] = (int)sys4(SYS_epoll_create1, 0, 0, 0, 0);
	FD_ZERO(&asked);
	for (long i = 0; i < count && error >= 0; i++) {
		int made = (int)sys4(SYS_eventfd2, 1, 0, 0, 0);
		/* Where hooks are counted it may have that number already. */
		int fd = (int)sys4(AS_DUP_TO(made, FIRST_FD + i));
		struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

		if (made < 0 || fd < 0)
			return made < 0 ? made : fd;
		if (fd != made)
			sys_close(made);
		polled[i] = (struct pollfd){.fd = fd, .events = POLLIN};
		FD_SET(fd, &asked);
		highest = fd;
		error = sys4(SYS_epoll_ctl, bench->fd[0], EPOLL_CTL_ADD, fd, (long)&event);
	}
	return (int)error;
}

static int many_teardown(struct bench *bench)
{
	for (long i = 0; i < bench->variant->value; i++)
		sys_close(polled[i].fd);
	return sys_close(bench->fd[0]);
}

#define WAITS(word, fds) \
	VARIANT("fds=" #fds, word " on " #fds " descriptors, all of them ready", fds)
#define ALL_WAITS(word) WAITS(word, 10), WAITS(word, 100), WAITS(word, 500)

static int select_arm(struct bench *bench)
{
	return one(bench, (struct call){
				  .nr = ARCH_NR_SELECT,
				  .arg = {highest + 1, (long)&given, 0, 0, (long)&at_once},
				  .want = bench->variant->value,
			  });
}

static void select_run(struct bench *bench)
{
	given = asked;
	call_all(&bench->call[0]);
}
VARIANTS(select, ALL_WAITS("select"));
DEFINE_OP(select, "select", .setup = many_setup, .run = select_run, .teardown = many_teardown,
	  .needs = "epoll or eventfd");

static int poll_arm(struct bench *bench)
{
	long count = bench->variant->value;

	return one(bench, (struct call){CALLS(AS_POLL((long)polled, count, (long)&at_once)),
					.want = count});
}
VARIANTS(poll, ALL_WAITS("poll"));
DEFINE_OP(poll, "poll", .setup = many_setup, .teardown = many_teardown,
	  .needs = "epoll or eventfd");

static int epoll_arm(struct bench *bench)
{
	long count = bench->variant->value;

	return one(bench, (struct call){CALLS(AS_EPOLL_WAIT(bench->fd[0], (long)events, count)),
					.want = count});
}
VARIANTS(epoll, ALL_WAITS("epoll"));
DEFINE_OP(epoll, "epoll", .setup = many_setup, .teardown = many_teardown,
	  .needs = "epoll or eventfd");
