// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An operation that goes wrong where its process finds a file of that name beside its directories,
 * so that of several processes in turns one can be in trouble.
 */
#include "arch/sys.h"
#include "ops/bench.h"
#include "sampler/region.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define AMID 12 /* the reading in which it goes wrong: after 5 to warm up, in a turn */

/* A file of that name is for every copy, NAME.1 for the second one. */
static bool in_trouble(const struct bench *bench, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "../../%s", name);
	if (!access(path, F_OK))
		return true;
	snprintf(path, sizeof(path), "../../%s.%u", name, bench->copy);
	return !access(path, F_OK);
}

static int trouble_setup(struct bench *bench)
{
	return in_trouble(bench, "skip") ? -ENODEV : 0;
}

static int trouble_arm(struct bench *bench)
{
	bench->call[0] = (struct call){.nr = SYS_getppid, .expect = EXPECT_ID};
	ONE_CALL(bench);
	if (bench->serial != AMID)
		return 0;
	if (in_trouble(bench, "crash"))
		_exit(7);
	if (in_trouble(bench, "fail"))
		return -EIO;
	if (in_trouble(bench, "hang"))
		pause();
	if (in_trouble(bench, "stopped"))
		kill(getppid(), SIGSTOP);
	if (in_trouble(bench, "killed"))
		kill(getppid(), SIGKILL);
	return 0;
}

static const struct variant trouble_variants[] = {
	{.params = "", .origin = ORIGIN_OWN, .title = "goes wrong if told to"},
};

static const struct op trouble_op = {
	.suite = "file",
	.name = "trouble",
	.needs = "trouble",
	.variants = trouble_variants,
	.n_variants = ARRAY_SIZE(trouble_variants),
	.setup = trouble_setup,
	.arm = trouble_arm,
};
REGISTER_OP(trouble_op);

/* Takes SLOW_NS in the second copy, and next to nothing in the first. */
#define SLOW_NS 2000000

static int uneven_arm(struct bench *bench)
{
	bench->call[0] = (struct call){.nr = SYS_getppid, .expect = EXPECT_ID};
	ONE_CALL(bench);
	return 0;
}

static void uneven_run(struct bench *bench)
{
	struct timespec now, began;

	call_make(&bench->call[0]);
	clock_gettime(CLOCK_MONOTONIC, &began);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (bench->copy &&
	       (now.tv_sec - began.tv_sec) * 1000000000L + now.tv_nsec - began.tv_nsec < SLOW_NS);
}

/* Leaves how many operations this copy has made. */
static int uneven_teardown(struct bench *bench)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "../../made.%u", bench->copy);
	fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
	dprintf(fd, "%u", bench->serial);
	close(fd);
	return 0;
}

static const struct variant uneven_variants[] = {
	{.params = "", .origin = ORIGIN_OWN, .title = "slow in the second copy"},
};

static const struct op uneven_op = {
	.suite = "file",
	.name = "uneven",
	.variants = uneven_variants,
	.n_variants = ARRAY_SIZE(uneven_variants),
	.arm = uneven_arm,
	.run = uneven_run,
	.teardown = uneven_teardown,
};
REGISTER_OP(uneven_op);
