// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tunable policy latency - hooks of processes and their credentials
 */

#include <linux/binfmts.h>

#include "compat.h"
#include "tunable.h"

/* A process has the label of the file that it executes. */
static int tunable_bprm_creds_for_exec(struct linux_binprm *bprm)
{
	tunable_count(TUNABLE_BPRM);
	tunable_cred(bprm->cred)->label =
		tunable_inode_label(file_inode(bprm->file));
	return 0;
}

static void tunable_cred_transfer(struct cred *new, const struct cred *old)
{
	tunable_cred(new)->label = tunable_cred(old)->label;
}

/* Between two executions the label stays, also in new processes. */
static int tunable_cred_prepare(struct cred *new, const struct cred *old,
				gfp_t gfp)
{
	tunable_cred_transfer(new, old);
	return 0;
}

static struct security_hook_list tunable_bprm_hooks[] __ro_after_init = {
	LSM_HOOK_INIT(bprm_creds_for_exec, tunable_bprm_creds_for_exec),
	LSM_HOOK_INIT(cred_prepare, tunable_cred_prepare),
	LSM_HOOK_INIT(cred_transfer, tunable_cred_transfer),
};

void __init tunable_add_bprm_hooks(void)
{
	/* The credentials of the first process were made before. */
	tunable_cred(current_cred())->label = TUNABLE_IGNORED;
	security_add_hooks(tunable_bprm_hooks, ARRAY_SIZE(tunable_bprm_hooks),
			   TUNABLE_ID);
}
