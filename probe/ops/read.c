// SPDX-License-Identifier: GPL-2.0-or-later
/* read(fd, buffer, size) from a cached file of 100 KB. */
#include "ops/buffers.h"

static int setup(struct bench *bench)
{
	bench->fd[0] = data_file("data", O_RDONLY);
	return bench->fd[0] < 0 ? bench->fd[0] : 0;
}

static int arm(struct bench *bench)
{
	const struct call call = transfer(SYS_read, bench->fd[0], bench->variant->value);

	return transfer_arm(bench, 1, &call);
}

static const struct variant variants[] = {STUDY_BUFFERS("read"),
					  BUFFER_VARIANT(1, ORIGIN_OWN, "read")};

DEFINE_FILE_OP("read", .setup = setup, .arm = arm, .teardown = close_files);
