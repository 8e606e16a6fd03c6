// SPDX-License-Identifier: GPL-2.0-or-later
/* stat(path, buffer). */
#include "arch/sys.h"
#include "ops/paths.h"

#include <sys/stat.h>

static struct stat result;

static int arm(struct bench *bench)
{
	bench->call[0] = (struct call){
		CALLS(AS_STAT(path_copy(bench), &result)),
		.want = bench->variant->value,
	};
	ONE_CALL(bench);
	return 0;
}

static const struct variant variants[] = {STUDY_PATHS("stat"), NAMES("stat")};

DEFINE_FILE_OP("stat", .setup = tree_setup, .arm = arm);
