// SPDX-License-Identifier: GPL-2.0-only
/*
 * Injected costs - hooks
 *
 * A function for each place, so that who looks for a cost can name it.
 */

#include <linux/dcache.h>
#include <linux/fs.h>

#include "compat.h"
#include "inject.h"

static int inject_inode_getattr(const struct path *path)
{
	inject_cost_of(INJECT_GETATTR);
	return 0;
}

static int inject_file_open(struct file *file)
{
	inject_cost_of(INJECT_OPEN);
	return 0;
}

static int inject_inode_rename(struct inode *old_dir, struct dentry *old_dentry,
			       struct inode *new_dir, struct dentry *new_dentry)
{
	inject_cost_of(INJECT_RENAME);
	return 0;
}

static int inject_inode_setattr(INJECT_SETATTR_ARGS)
{
	inject_cost_of(INJECT_SETATTR);
	inject_add_task_work();
	return 0;
}

static int inject_inode_rmdir(struct inode *dir, struct dentry *dentry)
{
	inject_cost_of(INJECT_RMDIR);
	return 0;
}

static int inject_inode_mkdir(struct inode *dir, struct dentry *dentry,
			      umode_t mode)
{
	inject_cost_of(INJECT_MKDIR);
	inject_queue_work();
	return 0;
}

static int inject_inode_create(struct inode *dir, struct dentry *dentry,
			       umode_t mode)
{
	inject_cost_of(INJECT_CREATE);
	return 0;
}

static int inject_file_permission(struct file *file, int mask)
{
	inject_cost_of(INJECT_PERMISSION);
	return 0;
}

static void inject_file_free(struct file *file)
{
	inject_cost_of(INJECT_FILE_FREE);
	inject_call_rcu();
}

static void inject_inode_free(struct inode *inode)
{
	inject_cost_of(INJECT_INODE_FREE);
}

static void inject_d_instantiate(struct dentry *dentry, struct inode *inode)
{
	if (inode)
		inject_swap_operations(inode);
}

static struct security_hook_list inject_hooks[] __ro_after_init = {
	LSM_HOOK_INIT(inode_getattr, inject_inode_getattr),
	LSM_HOOK_INIT(file_open, inject_file_open),
	LSM_HOOK_INIT(inode_rename, inject_inode_rename),
	LSM_HOOK_INIT(inode_setattr, inject_inode_setattr),
	LSM_HOOK_INIT(inode_rmdir, inject_inode_rmdir),
	LSM_HOOK_INIT(inode_mkdir, inject_inode_mkdir),
	LSM_HOOK_INIT(inode_create, inject_inode_create),
	LSM_HOOK_INIT(file_permission, inject_file_permission),
	LSM_HOOK_INIT(file_free_security, inject_file_free),
	LSM_HOOK_INIT(inode_free_security, inject_inode_free),
	LSM_HOOK_INIT(d_instantiate, inject_d_instantiate),
};

void __init inject_add_hooks(void)
{
	security_add_hooks(inject_hooks, ARRAY_SIZE(inject_hooks), INJECT_ID);
}
