// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Operations with a run() of their own, for the probe in a test: a process, calls with six
 * arguments, a pair of sockets; and some that must give no number.
 */
#include "arch/sys.h"
#include "ops/bench.h"
#include "sampler/region.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define SUITE "run"

/* fork, exit and wait: value is the status that the child leaves. */
static int fork_arm(struct bench *bench)
{
	bench->call[0] = (struct call){CALLS(AS_FORK()), .expect = EXPECT_ID};
	bench->call[1] = (struct call){
		.nr = SYS_wait4, .arg = {0, (long)&bench->status}, .expect = EXPECT_ID};
	TWO_CALLS(bench);
	return 0;
}

static void fork_run(struct bench *bench)
{
	call_all(&bench->call[0]);
	if (!bench->call[0].result)
		sys4(SYS_exit_group, bench->variant->value, 0, 0, 0);
	bench->call[1].arg[0] = bench->call[0].result;
	call_all(&bench->call[1]);
}

static const struct variant fork_variants[] = {
	{.params = "status=0", .origin = ORIGIN_OWN, .title = "fork, exit, wait", .value = 0},
	{.params = "status=3", .origin = ORIGIN_OWN, .title = "a child that fails", .value = 3},
};

static const struct op fork_op = {
	.suite = SUITE,
	.name = "fork",
	.calls = "fork+exit_group+wait4",
	.cycle = "fork+exit_group+wait4",
	.variants = fork_variants,
	.n_variants = ARRAY_SIZE(fork_variants),
	.arm = fork_arm,
	.run = fork_run,
};
REGISTER_OP(fork_op);

/*
 * A page mapped and unmapped: value is the offset, the sixth argument. It lies between two others,
 * so that no table of pages comes and goes with it.
 */
static int map_arm(struct bench *bench)
{
	static char *around;

	if (!around) {
		around = mmap(NULL, 3 * 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE,
			      -1, 0);
		if (around == MAP_FAILED || munmap(around + 4096, 4096))
			return -errno;
	}
	bench->call[0] = (struct call){
		.nr = SYS_mmap,
		.arg = {(long)around + 4096, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			bench->variant->value},
		.expect = EXPECT_FD,
	};
	bench->call[1] = (struct call){.nr = SYS_munmap, .arg = {0, 4096}, .fd_from = 1};
	TWO_CALLS(bench);
	return 0;
}

static void map_run(struct bench *bench)
{
	call_all(&bench->call[0]);
	call_bind(bench, 1);
	call_all(&bench->call[1]);
}

static const struct variant map_variants[] = {
	{.params = "offset=0", .origin = ORIGIN_OWN, .title = "map and unmap a page", .value = 0},
	{.params = "offset=1", .origin = ORIGIN_OWN, .title = "map at no page", .value = 1},
};

static const struct op map_op = {
	.suite = SUITE,
	.name = "map",
	.variants = map_variants,
	.n_variants = ARRAY_SIZE(map_variants),
	.arm = map_arm,
	.run = map_run,
};
REGISTER_OP(map_op);

/* Four bytes there and back: more calls than a region without run() may have. */
static char data[4];

static int pair_arm(struct bench *bench)
{
	const long at = (long)data, size = sizeof(data);
	static int ends[2];

	bench->call[0] =
		(struct call){.nr = SYS_socketpair, .arg = {AF_UNIX, SOCK_STREAM, 0, (long)ends}};
	for (int i = 1; i <= 4; i++)
		bench->call[i] = (struct call){.nr = i % 2 ? SYS_sendto : SYS_recvfrom,
					       .arg = {0, at, size},
					       .want = size};
	bench->call[5] = bench->call[6] = (struct call){.nr = SYS_close};
	bench->calls = 5;
	bench->length = 7;
	return 0;
}

static void pair_run(struct bench *bench)
{
	const int *ends = (const int *)bench->call[0].arg[3];

	call_all(&bench->call[0]);
	for (int i = 1; i <= 4; i++) {
		/* Sent at one end, received at the other, and back. */
		bench->call[i].arg[0] = ends[i / 2 % 2];
		call_all(&bench->call[i]);
	}
	bench->call[5].arg[0] = ends[0];
	bench->call[6].arg[0] = ends[1];
}

static const struct variant pair_variants[] = {
	{.params = "", .origin = ORIGIN_OWN, .title = "a pair of sockets, four bytes each way"},
};

static const struct op pair_op = {
	.suite = SUITE,
	.name = "pair",
	.variants = pair_variants,
	.n_variants = ARRAY_SIZE(pair_variants),
	.arm = pair_arm,
	.run = pair_run,
};
REGISTER_OP(pair_op);

/* A system call that no kernel has: value says whether setup() knows that. */
static int absent_setup(struct bench *bench)
{
	return bench->variant->value ? -ENOSYS : 0;
}

static int absent_arm(struct bench *bench)
{
	bench->call[0] = (struct call){.nr = 100000};
	ONE_CALL(bench);
	return 0;
}

static const struct variant absent_variants[] = {
	{.params = "known=no", .origin = ORIGIN_OWN, .title = "a call that is not there"},
	{.params = "known=yes", .origin = ORIGIN_OWN, .title = "and setup knows", .value = 1},
};

static const struct op absent_op = {
	.suite = SUITE,
	.name = "absent",
	.calls = "absent",
	.cycle = "absent",
	.variants = absent_variants,
	.n_variants = ARRAY_SIZE(absent_variants),
	.setup = absent_setup,
	.arm = absent_arm,
	.needs = "such thing",
};
REGISTER_OP(absent_op);
