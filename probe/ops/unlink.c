// SPDX-License-Identifier: GPL-2.0-or-later
/* unlink(path) of a file that was just made under a name never used before, its only one. */
#include "arch/sys.h"
#include "ops/depths.h"

static char data[4096];

static int arm(struct bench *bench)
{
	unsigned int n = 0;

	tree_fresh(bench, 0, 'u');
	bench->call[n++] = make_file(bench, 0);
	if (bench->variant->path) /* with content */
		bench->call[n++] = (struct call){
			.nr = SYS_write,
			.arg = {0, (long)data, sizeof(data)},
			.want = sizeof(data),
			.fd_from = 1,
		};
	bench->call[n++] = CLOSE_OF(0);
	bench->first = n;
	bench->calls = 1;
	bench->call[n++] = unlink_of(bench, 0);
	bench->length = n;
	return 0;
}

static const struct variant variants[] = {
	NEW_NAME_DEPTHS(ORIGIN_STUDY, "unlink an empty file"),
	{.params = "size=4096",
	 .origin = ORIGIN_OWN,
	 .title = "unlink a file of 4,096 bytes, which are evicted with it",
	 .path = "content",
	 .value = 1},
};

DEFINE_FILE_OP("unlink", .setup = depth_setup, .arm = arm);
