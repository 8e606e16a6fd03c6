// SPDX-License-Identifier: GPL-2.0-or-later
/* newfstatat(AT_FDCWD, path, buffer, 0), the system call behind fstatat. */
#include "arch/sys.h"
#include "ops/paths.h"

#include <sys/stat.h>

static struct stat result;

static int arm(struct bench *bench)
{
	bench->call[0] = (struct call){
		CALLS(AS_FSTATAT(AT_FDCWD, path_copy(bench), &result)),
		.want = bench->variant->value,
	};
	ONE_CALL(bench);
	return 0;
}

static const struct variant variants[] = {AT_PATHS("fstatat")};

DEFINE_FILE_OP("fstatat", .setup = tree_setup, .arm = arm);
