// SPDX-License-Identifier: GPL-2.0-only
/*
 * Injected costs - registration with the security framework
 *
 * A security module for measuring: it grants everything, and costs exactly as
 * many instructions more as the kernel command line says.
 */

#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "compat.h"
#include "inject.h"

struct lsm_blob_sizes inject_blob_sizes __ro_after_init = {
	.lbs_inode = INJECT_BLOB_BYTES,
};

#ifdef CONFIG_SECURITY_INJECT_LSM_ID
const struct lsm_id inject_lsmid = {
	.name = INJECT_NAME,
	.id = INJECT_LSM_ID,
};
#endif

static int __init inject_init(void)
{
	int error = inject_prepare_deferred();
	int i;

	for (i = 0; !error && i < INJECT_PLACES; i++)
		error = inject_prepare(&inject_places[i]);
	if (error)
		strscpy(inject_error, "no memory", INJECT_ERROR_MAX);
	inject_add_hooks();
	inject_active = true;
	pr_info("inject: grants everything, for measuring only\n");
	return 0;
}

DEFINE_LSM(inject) = {
	INJECT_LSM_NAME,
	.blobs = &inject_blob_sizes,
	.init = inject_init,
};
