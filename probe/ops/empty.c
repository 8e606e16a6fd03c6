// SPDX-License-Identifier: GPL-2.0-or-later
/* Nothing in the measured region: what the reading itself costs. */
#include "ops/bench.h"

static int arm(struct bench *bench)
{
	bench->calls = bench->length = 0;
	return 0;
}

static const struct variant variants[] = {
	{.params = "", .origin = ORIGIN_OWN, .title = "nothing: what the reading itself costs"},
};

static const struct op op = {
	.suite = "file",
	.name = "empty",
	.control = true,
	.variants = variants,
	.n_variants = ARRAY_SIZE(variants),
	.arm = arm,
};
REGISTER_OP(op);
