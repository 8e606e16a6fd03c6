// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An operation that goes wrong where its process finds a file of that name beside its directories,
 * so that of several processes in turns one can be in trouble.
 */
#include "bench.h"
#include "sys.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AMID 12 /* the reading in which it goes wrong: after 5 to warm up, in a turn */

static bool in_trouble(const char *name)
{
	return !access(name, F_OK);
}

static int trouble_setup(struct bench *bench)
{
	(void)bench;
	return in_trouble("../../skip") ? -ENODEV : 0;
}

static int trouble_arm(struct bench *bench)
{
	bench->call[0] = (struct call){.nr = SYS_getppid, .expect = EXPECT_PID};
	ONE_CALL(bench);
	if (bench->serial != AMID)
		return 0;
	if (in_trouble("../../crash"))
		_exit(7);
	if (in_trouble("../../fail"))
		return -EIO;
	if (in_trouble("../../hang"))
		pause();
	if (in_trouble("../../stopped"))
		kill(getppid(), SIGSTOP);
	if (in_trouble("../../killed"))
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
