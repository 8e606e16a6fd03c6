// SPDX-License-Identifier: GPL-2.0-only
/*
 * A security module that counts two permission checks and allows them.
 *
 * It shows all that a module needs to be built by "lsmeter kernel build
 * --with-lsm", on kernels from 6.1 on, and nothing more.
 */

#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/lsm_hooks.h>
#include <linux/security.h>
#include <linux/version.h>

#define EXAMPLE_NAME "example"

static atomic64_t example_inode_checks = ATOMIC64_INIT(0);
static atomic64_t example_file_checks = ATOMIC64_INIT(0);

/* May be called while walking a path under RCU: it must not sleep. */
static int example_inode_permission(struct inode *inode, int mask)
{
	atomic64_inc(&example_inode_checks);
	return 0;
}

static int example_file_open(struct file *file)
{
	atomic64_inc(&example_file_checks);
	return 0;
}

static struct security_hook_list example_hooks[] __ro_after_init = {
	LSM_HOOK_INIT(inode_permission, example_inode_permission),
	LSM_HOOK_INIT(file_open, example_file_open),
};

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
/*
 * Modules have numbers since 6.8. Those of the kernel's own begin at 100; one
 * that is not in the kernel takes a number far above them.
 */
#define EXAMPLE_LSM_ID 1000

static const struct lsm_id example_lsmid = {
	.name = EXAMPLE_NAME,
	.id = EXAMPLE_LSM_ID,
};
#endif

static int __init example_init(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
	security_add_hooks(example_hooks, ARRAY_SIZE(example_hooks),
			   &example_lsmid);
#else
	security_add_hooks(example_hooks, ARRAY_SIZE(example_hooks),
			   EXAMPLE_NAME);
#endif
	pr_info("example: counting permission checks\n");
	return 0;
}

static ssize_t example_read(struct file *file, char __user *buffer,
			    size_t count, loff_t *position)
{
	char text[64];
	int length;

	length = scnprintf(text, sizeof(text), "inode %lld\nfile %lld\n",
			   atomic64_read(&example_inode_checks),
			   atomic64_read(&example_file_checks));
	return simple_read_from_buffer(buffer, count, position, text, length);
}

static const struct file_operations example_counts = {
	.read = example_read,
	.llseek = default_llseek,
};

static int __init example_securityfs_init(void)
{
	struct dentry *counts;

	counts = securityfs_create_file(EXAMPLE_NAME, 0444, NULL, NULL,
					&example_counts);
	return PTR_ERR_OR_ZERO(counts);
}

DEFINE_LSM(example) = {
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
	.id = &example_lsmid,
	.initcall_fs = example_securityfs_init,
#else
	.name = EXAMPLE_NAME,
#endif
	.init = example_init,
};

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 19, 0)
fs_initcall(example_securityfs_init);
#endif
