// SPDX-License-Identifier: GPL-2.0-or-later
/* creat(path, 0644) of a name never used before; closed and removed after the region. */
#include "arch/sys.h"
#include "ops/depths.h"

static int arm(struct bench *bench)
{
	tree_fresh(bench, 0, 'c');
	bench->call[0] = (struct call){
		CALLS(AS_CREAT(bench->path[0], 0644)),
		.expect = EXPECT_FD,
	};
	bench->call[1] = CLOSE_OF(0);
	bench->call[2] = unlink_of(bench, 0);
	bench->calls = 1;
	bench->length = 3;
	return 0;
}

#define NEW_NAME(length, like) \
	{.params = "name=" #length, \
	 .origin = ORIGIN_OWN, \
	 .title = "creat a new file with a name of " #length " characters", \
	 .path = like, \
	 .value = 1}

static const struct variant variants[] = {NEW_NAME_DEPTHS(ORIGIN_STUDY, "creat a new file"),
					  NEW_NAME(8, NAME_8), NEW_NAME(24, NAME_24),
					  NEW_NAME(60, NAME_60)};

DEFINE_FILE_OP("creat", .setup = depth_setup, .arm = arm);
