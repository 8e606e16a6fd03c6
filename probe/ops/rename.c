// SPDX-License-Identifier: GPL-2.0-or-later
/* rename(old, new) inside one directory, new not existing; renamed back after it. */
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
	const char *from = bench->path[0], *to = bench->path[1];

	tree_path(bench->path[0], sizeof(bench->path[0]), bench->variant->value, "HH");
	tree_path(bench->path[1], sizeof(bench->path[1]), bench->variant->value, "NN");
	bench->call[0] = (struct call){CALLS(AS_RENAME(from, to))};
	bench->call[1] = (struct call){CALLS(AS_RENAME(to, from))};
	bench->calls = 1;
	bench->length = 2;
	return 0;
}

static const struct variant variants[] = {STUDY_DEPTHS("rename a file")};

DEFINE_FILE_OP("rename", .setup = setup, .arm = arm);
