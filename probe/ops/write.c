// SPDX-License-Identifier: GPL-2.0-or-later
/* write(fd, buffer, size) over the content of a file of 100 KB. */
#include "ops/buffers.h"

static int setup(struct bench *bench)
{
	bench->fd[0] = data_file("data", O_WRONLY);
	return bench->fd[0] < 0 ? bench->fd[0] : 0;
}

static int arm(struct bench *bench)
{
	const struct call call = transfer(SYS_write, bench->fd[0], bench->variant->value);

	return transfer_arm(bench, 1, &call);
}

static const struct variant variants[] = {STUDY_BUFFERS("write"),
					  BUFFER_VARIANT(1, ORIGIN_OWN, "write")};

DEFINE_FILE_OP("write", .setup = setup, .arm = arm, .teardown = close_files);
