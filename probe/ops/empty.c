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

DEFINE_FILE_OP("empty", .control = true, .arm = arm);
