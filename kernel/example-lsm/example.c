// SPDX-License-Identifier: GPL-2.0-only
/*
 * A security module with the smallest policy there can be: while "example/enforce"
 * in securityfs holds 1, no file may be opened whose extended attribute
 * "security.example" is "closed". It also counts two kinds of checks.
 *
 * It shows all that a module needs to be built by "lsmeter kernel build
 * --with-lsm", on kernels from 6.1 on, and to have its policy measured with a
 * setup file (example.toml), and nothing more.
 */

#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/lsm_hooks.h>
#include <linux/security.h>
#include <linux/string.h>
#include <linux/version.h>
#include <linux/xattr.h>

#define EXAMPLE_NAME "example"
#define EXAMPLE_XATTR XATTR_SECURITY_PREFIX EXAMPLE_NAME
#define EXAMPLE_CLOSED "closed"

static bool example_enforce;
static atomic64_t example_inode_checks = ATOMIC64_INIT(0);
static atomic64_t example_file_checks = ATOMIC64_INIT(0);

/* May be called while walking a path under RCU: it must not sleep. */
static int example_inode_permission(struct inode *inode, int mask)
{
	atomic64_inc(&example_inode_checks);
	return 0;
}

static bool example_is_closed(struct dentry *dentry)
{
	char label[sizeof(EXAMPLE_CLOSED)];
	ssize_t size;

	size = __vfs_getxattr(dentry, d_inode(dentry), EXAMPLE_XATTR, label,
			      sizeof(label));
	return size == strlen(EXAMPLE_CLOSED) &&
	       !memcmp(label, EXAMPLE_CLOSED, size);
}

static int example_file_open(struct file *file)
{
	atomic64_inc(&example_file_checks);
	if (!READ_ONCE(example_enforce) ||
	    !example_is_closed(file->f_path.dentry))
		return 0;
	pr_notice_ratelimited("example: denied open of inode %lu\n",
			      file_inode(file)->i_ino);
	return -EACCES;
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

	length = scnprintf(text, sizeof(text), "inode: %lld\nfile: %lld\n",
			   atomic64_read(&example_inode_checks),
			   atomic64_read(&example_file_checks));
	return simple_read_from_buffer(buffer, count, position, text, length);
}

static const struct file_operations example_counts = {
	.read = example_read,
	.llseek = default_llseek,
};

static ssize_t example_enforce_read(struct file *file, char __user *buffer,
				    size_t count, loff_t *position)
{
	const char *text = READ_ONCE(example_enforce) ? "1\n" : "0\n";

	return simple_read_from_buffer(buffer, count, position, text, 2);
}

static ssize_t example_enforce_write(struct file *file,
				     const char __user *buffer, size_t count,
				     loff_t *position)
{
	bool enforce;
	int error;

	error = kstrtobool_from_user(buffer, count, &enforce);
	if (error)
		return error;
	WRITE_ONCE(example_enforce, enforce);
	return count;
}

static const struct file_operations example_enforce_file = {
	.read = example_enforce_read,
	.write = example_enforce_write,
	.llseek = default_llseek,
};

static int __init example_securityfs_init(void)
{
	struct dentry *dir, *file;

	dir = securityfs_create_dir(EXAMPLE_NAME, NULL);
	if (IS_ERR(dir))
		return PTR_ERR(dir);
	file = securityfs_create_file("counts", 0444, dir, NULL,
				      &example_counts);
	if (IS_ERR(file))
		return PTR_ERR(file);
	file = securityfs_create_file("enforce", 0600, dir, NULL,
				      &example_enforce_file);
	return PTR_ERR_OR_ZERO(file);
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
