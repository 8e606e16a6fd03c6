// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The suite `net`: what labels packets, made and taken away again: security associations and
 * policies of IPsec, marks of nftables. Each has the context of the process itself.
 */
#include "net/baseline.h"
#include "net/ipsec.h"
#include "net/secmark.h"
#include "ops/define.h"

#include <linux/netlink.h>
#include <sys/socket.h>

#define SUITE "net"

#define FIRST_NUMBER 1000000 /* above those of processes */
#define NUMBERS	     16
#define TRIES	     6

static struct netlink make, undo;
static char own_context[256];
static union {
	struct nlmsghdr header;
	char room[NETLINK_BYTES];
} answer;

/* As the module wrote it for us to read; without one that has contexts none is given. */
static const char *context(void)
{
	int fd = sys_open("/proc/self/attr/current", O_RDONLY, 0);
	long n = fd < 0 ? fd : sys4(SYS_read, fd, (long)own_context, sizeof(own_context) - 1, 0);
	char *mode;

	if (fd >= 0)
		sys_close(fd);
	own_context[n < 0 ? 0 : n] = '\0';
	own_context[strcspn(own_context, "\n")] = '\0';
	mode = strstr(own_context, " ("); /* of AppArmor, which is no part of the label */
	if (mode)
		*mode = '\0';
	return *own_context ? own_context : NULL;
}

/* What asking for nothing takes; by the counter. */
static uint64_t cost_of_asking(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before, took;

		netlink_empty(&make);
		netlink_begin(&make, NLMSG_NOOP, 0, "", 0);
		before = counter_now();
		if (netlink_send(&make))
			return UINT64_MAX;
		took = counter_now() - before;
		if (took < least)
			least = took;
	}
	return least;
}

static int open_as(int protocol, uint32_t number)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_pid = number};
	int error = netlink_open(&make, protocol);

	/* Where the number is taken, the kernel gives another one. */
	if (!error)
		sys4(SYS_bind, make.fd, (long)&address, sizeof(address), 0);
	return error;
}

/*
 * The kernel's table of such sockets has few chains, whose keys are random in each boot: of some
 * numbers take one whose chain no other socket is in, 12 instructions each time.
 */
static int open_alone(int protocol)
{
	uint64_t least = UINT64_MAX;
	uint32_t best = FIRST_NUMBER;
	int error;

	if (!network_baseline())
		return netlink_open(&make, protocol);
	for (uint32_t i = FIRST_NUMBER; i < FIRST_NUMBER + NUMBERS; i++) {
		uint64_t cost;

		error = open_as(protocol, i);
		if (error)
			return error;
		cost = cost_of_asking();
		sys_close(make.fd);
		if (cost < least) {
			least = cost;
			best = i;
		}
	}
	return open_as(protocol, best);
}

static int ready(int protocol)
{
	int error = open_alone(protocol);

	undo.fd = make.fd;
	netlink_empty(&undo);
	return error;
}

enum rule { ASSOCIATION, POLICY };

static void write_messages(long rule)
{
	const struct ipsec_way way = {.family = AF_INET, .trial = true};

	if (rule == ASSOCIATION) {
		ipsec_association(&make, way, context());
		ipsec_no_association(&undo, way);
	} else {
		ipsec_policy(&make, way, true, context());
		ipsec_no_policy(&undo, way, true, context());
	}
}

/* Once, and whether the kernel can. */
static int ipsec_setup(struct bench *bench)
{
	int error = ready(NETLINK_XFRM);

	if (error)
		return error;
	write_messages(bench->variant->value);
	error = netlink_send(&make);
	if (!error)
		error = netlink_send(&undo);
	netlink_empty(&make);
	netlink_empty(&undo);
	write_messages(bench->variant->value);
	return error;
}

/* Each message is answered by an acknowledgement, which has no error. */
static int messages_arm(struct bench *bench)
{
	struct netlink *const both[] = {&make, &undo};

	cycle_begin(bench);
	for (int i = 0; i < 2; i++) {
		push(bench,
		     (struct call){.nr = SYS_sendto,
				   .arg = {make.fd, (long)both[i]->data, (long)both[i]->size},
				   .want = (long)both[i]->size});
		push(bench, (struct call){.nr = SYS_read,
					  .arg = {make.fd, (long)&answer, sizeof(answer)},
					  .expect = EXPECT_FD});
	}
	region_from(bench, 0);
	return 0;
}

static void messages_run(struct bench *bench)
{
	for (unsigned int i = 0; i < 4; i += 2) {
		call_all(&bench->call[i]);
		call_all(&bench->call[i + 1]);
		if (answer.header.nlmsg_type == NLMSG_ERROR)
			bench->status |= ((struct nlmsgerr *)NLMSG_DATA(&answer.header))->error;
	}
}

static int messages_close(struct bench *bench)
{
	(void)bench;
	return sys_close(make.fd);
}

#define ipsec_arm messages_arm
VARIANTS(ipsec,
	 VARIANT("what=association", "make and delete a security association of IPsec",
		 ASSOCIATION),
	 VARIANT("what=policy", "make and delete a policy of IPsec", POLICY));
DEFINE_OP(ipsec, "ipsec", .settles = true, .setup = ipsec_setup, .run = messages_run,
	  .teardown = messages_close, .privileged = true, .guest_only = true, .needs = "IPsec");

/* A mark, in a table that stays: the calls of a batch are answered once each. */
static int mark_setup(struct bench *bench)
{
	int error = ready(NETLINK_NETFILTER);
	const char *own = context();

	(void)bench;
	if (error)
		return error;
	if (!own)
		return -EOPNOTSUPP;
	secmark_table(&make);
	error = netlink_send(&make);
	if (error)
		return error;
	secmark_object(&make, own);
	error = netlink_send(&make);
	secmark_no_object(&undo);
	if (!error)
		error = netlink_send(&undo);
	secmark_object(&make, own);
	secmark_no_object(&undo);
	return error;
}

#define mark_arm messages_arm
ALONE(mark, "make and delete a mark of nftables (SECMARK)");
DEFINE_OP(mark, "secmark", .settles = true, .setup = mark_setup, .run = messages_run,
	  .teardown = messages_close, .privileged = true, .guest_only = true,
	  .needs = "SECMARK of nftables");
