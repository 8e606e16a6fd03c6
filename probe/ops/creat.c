// SPDX-License-Identifier: GPL-2.0-or-later
/* creat(path, 0644) of a name never used before; closed and removed outside the region. */
#include "ops/depths.h"
#include "sys.h"

static int arm(struct bench *bench)
{
	tree_fresh(bench, 0, 'c');
	bench->call[0] = (struct call){
		.nr = SYS_creat,
		.arg = {(long)bench->path[0], 0644},
		.expect = EXPECT_FD,
	};
	bench->calls = 1;
	return 0;
}

static int disarm(struct bench *bench)
{
	int error;

	if (bench->call[0].result < 0)
		return 0;
	error = sys_close((int)bench->call[0].result);
	return error ? error : sys_unlink(bench->path[0]);
}

static const struct variant variants[] = {NEW_NAME_DEPTHS(ORIGIN_STUDY, "creat a new file")};

static const struct op op = {
	.suite = "file",
	.name = "creat",
	.variants = variants,
	.n_variants = ARRAY_SIZE(variants),
	.setup = depth_setup,
	.arm = arm,
	.disarm = disarm,
};
REGISTER_OP(op);
