// SPDX-License-Identifier: GPL-2.0-or-later
/* open(path, O_RDONLY); the descriptor is closed outside the measured region. */
#include "ops/paths.h"
#include "sys.h"

static int arm(struct bench *bench)
{
	const struct variant *variant = bench->variant;

	bench->call[0] = (struct call){
		.nr = SYS_open,
		.arg = {(long)variant->path, O_RDONLY},
		.expect = variant->value ? EXPECT_VALUE : EXPECT_FD,
		.want = variant->value,
	};
	bench->calls = 1;
	return 0;
}

static int disarm(struct bench *bench)
{
	return bench->call[0].result >= 0 ? sys_close((int)bench->call[0].result) : 0;
}

static const struct variant variants[] = {STUDY_PATHS("open")};

static const struct op op = {
	.suite = "file",
	.name = "open",
	.variants = variants,
	.n_variants = ARRAY_SIZE(variants),
	.setup = tree_setup,
	.arm = arm,
	.disarm = disarm,
};
REGISTER_OP(op);
