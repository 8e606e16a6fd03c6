// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What UnixBench's file copies repeat: read(from, buffer, size) and write(to, buffer, size), with
 * its three sizes of the buffer and its limits of the file: 500, 2,000 and 8,000 KiB.
 */
#include "ops/buffers.h"

static int filecopy_setup(struct bench *bench)
{
	long size = bench->variant->value;

	data_bytes = (size == 256 ? 500 : size == 1024 ? 2000 : 8000) * 1024L;
	return copy_setup(bench);
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
	.setup = filecopy_setup,
	.arm = copy_arm,
	.teardown = close_files,
};
REGISTER_OP(op);
