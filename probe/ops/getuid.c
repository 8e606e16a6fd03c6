// SPDX-License-Identifier: GPL-2.0-or-later
/* One of the calls of UnixBench's system call overhead; it asks no security module. */
#include "arch/sys.h"
#include "ops/bench.h"

static int arm(struct bench *bench)
{
	bench->call[0] = (struct call){.nr = SYS_getuid, .expect = EXPECT_ID};
	ONE_CALL(bench);
	return 0;
}

static const struct variant variants[] = {
	{.params = "", .origin = ORIGIN_OWN, .title = "UnixBench system call overhead: getuid"},
};

static const struct op op = {
	.suite = "unixbench",
	.name = "getuid",
	.control = true,
	.variants = variants,
	.n_variants = ARRAY_SIZE(variants),
	.arm = arm,
};
REGISTER_OP(op);
