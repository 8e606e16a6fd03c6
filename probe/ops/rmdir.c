// SPDX-License-Identifier: GPL-2.0-or-later
/* rmdir(path) of an empty directory that was just made under a name never used before. */
#include "ops/many.h"

static int arm(struct bench *bench)
{
	tree_fresh(bench, 0, 'm');
	bench->call[0] = mkdir_of(bench);
	bench->call[1] = rmdir_of(bench);
	bench->first = 1;
	bench->calls = 1;
	bench->length = 2;
	return 0;
}

static const struct variant variants[] = {NEW_NAME_DEPTHS(ORIGIN_OWN, "rmdir"),
					  MANY_VARIANT("rmdir")};

DEFINE_FILE_OP("rmdir", .setup = many_setup, .arm = arm, .teardown = many_teardown);
