// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * close(fd) of the only descriptor of an open file, by what was done with it before. Work that
 * closing leaves to RCU is in the whole cost alone.
 */
#include "ops/depths.h"

#include <stdio.h>

static char data[4096];

enum before { OPENED, CREATED, WRITTEN, UNLINKED };

static int setup(struct bench *bench)
{
	(void)bench;
	return tree_touch("HH");
}

static int arm(struct bench *bench)
{
	enum before before = (enum before)bench->variant->value;
	unsigned int n = 0;

	if (before == OPENED) {
		snprintf(bench->path[0], sizeof(bench->path[0]), "HH");
		bench->call[n++] = (struct call){
			CALLS(AS_OPEN(bench->path[0], O_RDONLY, 0)),
			.expect = EXPECT_FD,
		};
	} else {
		tree_fresh_in(bench, 0, 'x', 1);
		bench->call[n++] = make_file(bench, 0);
	}
	if (before == WRITTEN)
		bench->call[n++] = (struct call){
			.nr = SYS_write,
			.arg = {0, (long)data, sizeof(data)},
			.want = sizeof(data),
			.fd_from = 1,
		};
	else if (before == UNLINKED)
		bench->call[n++] = unlink_of(bench, 0);
	bench->first = n;
	bench->calls = 1;
	bench->call[n++] = CLOSE_OF(0);
	if (before == CREATED || before == WRITTEN)
		bench->call[n++] = unlink_of(bench, 0);
	bench->length = n;
	return 0;
}

#define CLOSE_VARIANT(word, kind, text) \
	{.params = "after=" word, \
	 .origin = ORIGIN_OWN, \
	 .title = "close a file " text, \
	 .value = kind}

static const struct variant variants[] = {
	CLOSE_VARIANT("open", OPENED, "that was opened for reading"),
	CLOSE_VARIANT("creat", CREATED, "that was created"),
	CLOSE_VARIANT("write", WRITTEN, "that was created and written"),
	CLOSE_VARIANT("unlink", UNLINKED, "without a name: its inode and dentry are dropped"),
};

DEFINE_FILE_OP("close", .setup = setup, .arm = arm);
