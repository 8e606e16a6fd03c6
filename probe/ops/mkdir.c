// SPDX-License-Identifier: GPL-2.0-or-later
/* mkdir(path, 0755) of a name never used before; removed after the measured region. */
#include "ops/many.h"

static int arm(struct bench *bench)
{
	tree_fresh(bench, 0, 'm');
	bench->call[0] = mkdir_of(bench);
	bench->call[1] = rmdir_of(bench);
	bench->calls = 1;
	bench->length = 2;
	return 0;
}

static const struct variant variants[] = {NEW_NAME_DEPTHS(ORIGIN_OWN, "mkdir"),
					  MANY_VARIANT("mkdir")};

DEFINE_FILE_OP("mkdir", .setup = many_setup, .arm = arm, .teardown = many_teardown);
