// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tunable policy latency - registration with the security framework
 *
 * A security module for measuring: it labels processes and files, it is asked
 * for every decision that a module with a policy would be asked for, it takes
 * a chosen time for it, and it always grants.
 */

#include <linux/init.h>
#include <linux/printk.h>

#include "compat.h"
#include "tunable.h"

struct lsm_blob_sizes tunable_blob_sizes __ro_after_init = {
	.lbs_cred = sizeof(struct tunable_cred_security),
	.lbs_inode = sizeof(struct tunable_inode_security),
	TUNABLE_XATTR_BLOB
};

#ifdef CONFIG_SECURITY_TUNABLE_LSM_ID
const struct lsm_id tunable_lsmid = {
	.name = TUNABLE_NAME,
	.id = TUNABLE_LSM_ID,
};
#endif

static int __init tunable_init(void)
{
	tunable_add_bprm_hooks();
	tunable_add_file_hooks();
	tunable_add_inode_hooks();
	tunable_active = true;
	pr_info("tunable: grants everything, for measuring only\n");
	return 0;
}

/* Exclusive: it owns the security IDs and the label of a new file. */
DEFINE_LSM(tunable) = {
	TUNABLE_LSM_NAME,
	.flags = LSM_FLAG_EXCLUSIVE,
	.blobs = &tunable_blob_sizes,
	.init = tunable_init,
};
