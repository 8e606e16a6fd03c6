// SPDX-License-Identifier: GPL-2.0-or-later
/* openat(AT_FDCWD, path, O_RDONLY); the descriptor is closed after the measured region. */
#include "arch/sys.h"
#include "ops/paths.h"

static int arm(struct bench *bench)
{
	const struct variant *variant = bench->variant;

	bench->call[0] = (struct call){
		.nr = SYS_openat,
		.arg = {AT_FDCWD, (long)path_copy(bench), O_RDONLY},
		.expect = variant->value ? EXPECT_VALUE : EXPECT_FD,
		.want = variant->value,
	};
	bench->call[1] = CLOSE_OF(0);
	bench->calls = 1;
	bench->length = variant->value ? 1 : 2;
	return 0;
}

static const struct variant variants[] = {AT_PATHS("openat")};

DEFINE_FILE_OP("openat", .setup = tree_setup, .arm = arm);
