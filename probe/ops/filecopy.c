// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What UnixBench's file copies repeat: read(from, buffer, size) and write(to, buffer, size), with
 * its three sizes of the buffer.
 */
#include "ops/buffers.h"

static int setup(struct bench *bench)
{
	bench->fd[0] = data_file("from", O_RDONLY);
	if (bench->fd[0] < 0)
		return bench->fd[0];
	bench->fd[1] = data_file("to", O_WRONLY);
	return bench->fd[1] < 0 ? bench->fd[1] : 0;
}

static int arm(struct bench *bench)
{
	long size = bench->variant->value;
	int error = wrap(bench->fd[0], size);

	bench->call[0] = transfer(SYS_read, bench->fd[0], size);
	bench->call[1] = transfer(SYS_write, bench->fd[1], size);
	bench->calls = 2;
	return error ? error : wrap(bench->fd[1], size);
}

static const struct variant variants[] = {
	BUFFER_VARIANT(256, ORIGIN_OWN, "UnixBench file copy by"),
	BUFFER_VARIANT(1024, ORIGIN_OWN, "UnixBench file copy by"),
	BUFFER_VARIANT(4096, ORIGIN_OWN, "UnixBench file copy by"),
};

static const struct op op = {
	.suite = "unixbench",
	.name = "filecopy",
	.variants = variants,
	.n_variants = ARRAY_SIZE(variants),
	.setup = setup,
	.arm = arm,
	.teardown = close_files,
};
REGISTER_OP(op);
