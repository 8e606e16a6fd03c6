// SPDX-License-Identifier: GPL-2.0-or-later
/* unlink(path) of an empty file that was just made under a name never used before. */
#include "ops/depths.h"
#include "sys.h"

static int arm(struct bench *bench)
{
	tree_fresh(bench, 0, 'u');
	bench->call[0] = (struct call){
		.nr = SYS_unlink,
		.arg = {(long)bench->path[0]},
	};
	bench->calls = 1;
	return tree_touch(bench->path[0]);
}

static const struct variant variants[] = {NEW_NAME_DEPTHS(ORIGIN_STUDY, "unlink an empty file")};

static const struct op op = {
	.suite = "file",
	.name = "unlink",
	.variants = variants,
	.n_variants = ARRAY_SIZE(variants),
	.setup = depth_setup,
	.arm = arm,

};
REGISTER_OP(op);
