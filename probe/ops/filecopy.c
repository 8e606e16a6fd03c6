// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What UnixBench's file copies repeat: read(from, buffer, size) and write(to, buffer, size), with
 * its three sizes of the buffer.
 */
#include "ops/buffers.h"

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
	.setup = copy_setup,
	.arm = copy_arm,
	.teardown = close_files,
};
REGISTER_OP(op);
