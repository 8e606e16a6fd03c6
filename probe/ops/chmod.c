// SPDX-License-Identifier: GPL-2.0-or-later
/* chmod(path, 0644) of a file that has this mode already; the inode is written all the same. */
#include "arch/sys.h"
#include "ops/depths.h"

static int setup(struct bench *bench)
{
	int error = depth_setup(bench);

	tree_path(bench->path[0], sizeof(bench->path[0]), bench->variant->value, "HH");
	return error ? error : tree_touch(bench->path[0]);
}

static int arm(struct bench *bench)
{
	tree_path(bench->path[0], sizeof(bench->path[0]), bench->variant->value, "HH");
	bench->call[0] = (struct call){
		CALLS(AS_CHMOD(bench->path[0], 0644)),
	};
	ONE_CALL(bench);
	return 0;
}

static const struct variant variants[] = {STUDY_DEPTHS("chmod a file")};

DEFINE_FILE_OP("chmod", .setup = setup, .arm = arm);
