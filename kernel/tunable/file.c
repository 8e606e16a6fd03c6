// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tunable policy latency - hooks of open files
 */

#include "compat.h"
#include "tunable.h"

static int tunable_file_permission(struct file *file, int mask)
{
	tunable_check_wait(&tunable_file_check);
	return 0;
}

static struct security_hook_list tunable_file_hooks[] __ro_after_init = {
	LSM_HOOK_INIT(file_permission, tunable_file_permission),
};

void __init tunable_add_file_hooks(void)
{
	security_add_hooks(tunable_file_hooks, ARRAY_SIZE(tunable_file_hooks),
			   TUNABLE_ID);
}
