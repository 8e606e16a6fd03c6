// SPDX-License-Identifier: GPL-2.0-or-later
/* mkdir(path, 0755) of a name never used before; removed outside the measured region. */
#include "ops/many.h"

static int arm(struct bench *bench)
{
	tree_fresh(bench, 0, 'm');
	bench->call[0] = (struct call){
		.nr = SYS_mkdir,
		.arg = {(long)bench->path[0], 0755},
	};
	bench->calls = 1;
	return 0;
}

static int disarm(struct bench *bench)
{
	return bench->call[0].result ? 0 : sys_rmdir(bench->path[0]);
}

static const struct variant variants[] = {NEW_NAME_DEPTHS(ORIGIN_OWN, "mkdir"),
					  MANY_VARIANT("mkdir")};

static const struct op op = {
	.suite = "file",
	.name = "mkdir",
	.variants = variants,
	.n_variants = ARRAY_SIZE(variants),
	.setup = many_setup,
	.arm = arm,
	.teardown = many_teardown,
	.disarm = disarm,
};
REGISTER_OP(op);
