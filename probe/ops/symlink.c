// SPDX-License-Identifier: GPL-2.0-or-later
/* symlink("HH", path) under a name never used before; removed after the region. */
#include "arch/sys.h"
#include "ops/depths.h"

static int arm(struct bench *bench)
{
	tree_fresh(bench, 0, 's');
	bench->call[0] = (struct call){
		CALLS(AS_SYMLINK("HH", bench->path[0])),
	};
	bench->call[1] = unlink_of(bench, 0);
	bench->calls = 1;
	bench->length = 2;
	return 0;
}

static const struct variant variants[] = {NEW_NAME_DEPTHS(ORIGIN_STUDY, "symlink a new name")};

DEFINE_FILE_OP("symlink", .setup = depth_setup, .arm = arm);
