// SPDX-License-Identifier: GPL-2.0-or-later
/* getppid(): a system call that asks no security module. */
#include "arch/sys.h"
#include "ops/bench.h"

static int arm(struct bench *bench)
{
	bench->call[0] = (struct call){.nr = SYS_getppid, .expect = EXPECT_ID};
	ONE_CALL(bench);
	return 0;
}

static const struct variant variants[] = {
	{.params = "", .origin = ORIGIN_OWN, .title = "getppid, which asks no security module"},
};

DEFINE_FILE_OP("getppid", .control = true, .arm = arm);
