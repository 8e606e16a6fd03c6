// SPDX-License-Identifier: GPL-2.0-or-later
/* read(from, buffer, size) and write(to, buffer, size): both are in the measured region. */
#include "ops/buffers.h"

static const struct variant variants[] = {STUDY_BUFFERS("copy")};

static const struct op op = {
	.suite = "file",
	.name = "copy",
	.variants = variants,
	.n_variants = ARRAY_SIZE(variants),
	.setup = copy_setup,
	.arm = copy_arm,
	.teardown = close_files,
};
REGISTER_OP(op);
