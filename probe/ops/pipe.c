// SPDX-License-Identifier: GPL-2.0-or-later
/* What UnixBench's pipe throughput repeats: 512 bytes into a pipe, and out again. */
#include "ops/buffers.h"

static int setup(struct bench *bench)
{
	int ends[2];
	long error = sys4(AS_PIPE(ends));

	bench->fd[0] = error ? -1 : ends[0];
	bench->fd[1] = error ? -1 : ends[1];
	return (int)error;
}

static int arm(struct bench *bench)
{
	long size = bench->variant->value;

	bench->call[0] = transfer(SYS_write, bench->fd[1], size);
	bench->call[1] = transfer(SYS_read, bench->fd[0], size);
	TWO_CALLS(bench);
	return 0;
}

static const struct variant variants[] = {
	BUFFER_VARIANT(512, ORIGIN_OWN, "UnixBench pipe throughput by"),
};

static const struct op op = {
	.suite = "unixbench",
	.name = "pipe",
	.variants = variants,
	.n_variants = ARRAY_SIZE(variants),
	.setup = setup,
	.arm = arm,
	.teardown = close_files,
};
REGISTER_OP(op);
