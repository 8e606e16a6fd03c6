// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tunable policy latency - hooks of inodes
 */

#include <linux/dcache.h>
#include <linux/xattr.h>

#include "compat.h"
#include "tunable.h"

static const char tunable_xattr_name[] =
	XATTR_SECURITY_PREFIX TUNABLE_XATTR_SUFFIX;

/* Read the label from the file system, unless it is known. May sleep. */
static void tunable_inode_load(struct inode *inode, struct dentry *dentry)
{
	struct tunable_inode_security *isec = tunable_inode(inode);
	char value[TUNABLE_LABEL_MAX + 1];
	int size, label = TUNABLE_IGNORED;

	if (READ_ONCE(isec->label) != TUNABLE_UNKNOWN)
		return;
	if (inode->i_opflags & IOP_XATTR) {
		size = __vfs_getxattr(dentry, inode, tunable_xattr_name, value,
				      sizeof(value));
		if (size == -ENOMEM || size == -EIO || size == -EINTR)
			return; /* passing: the next one to ask tries again */
		if (size > 0)
			label = tunable_label_parse(value, size);
		if (label < 0)
			label = TUNABLE_IGNORED;
	}
	/* A label that was set in the meantime is newer than what was read. */
	cmpxchg(&isec->label, TUNABLE_UNKNOWN, label);
}

/**
 * tunable_inode_label - Look up the label of an inode
 * @inode: the inode
 *
 * The root of a file system is not read when it is mounted, when the file
 * system may not be able to answer yet, but here.
 *
 * Context: Process context. May sleep.
 * Return: an enum tunable_label other than TUNABLE_UNKNOWN.
 */
u32 tunable_inode_label(struct inode *inode)
{
	struct dentry *dentry;
	u32 label;

	if (READ_ONCE(tunable_inode(inode)->label) == TUNABLE_UNKNOWN) {
		dentry = d_find_alias(inode);
		if (dentry)
			tunable_inode_load(inode, dentry);
		dput(dentry);
	}
	label = READ_ONCE(tunable_inode(inode)->label);
	return label == TUNABLE_UNKNOWN ? TUNABLE_IGNORED : label;
}

static int tunable_inode_alloc_security(struct inode *inode)
{
	tunable_count(TUNABLE_INODE_ALLOC);
	tunable_inode(inode)->label = TUNABLE_UNKNOWN;
	return 0;
}

/* A new file has the label of the process that creates it. */
static int tunable_inode_init_security(struct inode *inode, struct inode *dir,
				       const struct qstr *qstr,
				       TUNABLE_NEW_XATTR)
{
	u32 label = tunable_cred(current_cred())->label;

	tunable_count(TUNABLE_INODE_INIT);
	WRITE_ONCE(tunable_inode(inode)->label, label);
	return TUNABLE_PUT_XATTR(tunable_label_name(label));
}

static void tunable_d_instantiate(struct dentry *dentry, struct inode *inode)
{
	if (inode && !IS_ROOT(dentry))
		tunable_inode_load(inode, dentry);
}

static int tunable_inode_create(struct inode *dir, struct dentry *dentry,
				umode_t mode)
{
	tunable_count(TUNABLE_INODE_CREATE);
	return 0;
}

static int tunable_inode_permission(struct inode *inode, int mask)
{
	tunable_check_wait(&tunable_inode_check);
	return 0;
}

static int tunable_inode_setxattr(struct tunable_idmap *idmap,
				  struct dentry *dentry, const char *name,
				  const void *value, size_t size, int flags)
{
	int label;

	tunable_count(TUNABLE_INODE_SETXATTR);
	if (!strcmp(name, tunable_xattr_name)) {
		label = tunable_label_parse(value, size);
		if (label < 0)
			return label;
	}
	return tunable_may_setxattr(dentry, name, value, size, flags);
}

static void tunable_inode_post_setxattr(struct dentry *dentry, const char *name,
					const void *value, size_t size,
					int flags)
{
	struct inode *inode = d_backing_inode(dentry);
	int label;

	if (strcmp(name, tunable_xattr_name))
		return;
	label = tunable_label_parse(value, size);
	if (label >= 0)
		WRITE_ONCE(tunable_inode(inode)->label, label);
}

/* A label can be changed, not taken away: the inode would keep the old one. */
static int tunable_inode_removexattr(struct tunable_idmap *idmap,
				     struct dentry *dentry, const char *name)
{
	if (!strcmp(name, tunable_xattr_name))
		return -EACCES;
	return tunable_may_removexattr(idmap, dentry, name);
}

/* Setting a label where the file system keeps no extended attributes. */
static int tunable_inode_setsecurity(struct inode *inode, const char *name,
				     const void *value, size_t size, int flags)
{
	int label;

	if (strcmp(name, TUNABLE_XATTR_SUFFIX))
		return -EOPNOTSUPP;
	label = tunable_label_parse(value, size);
	if (label < 0)
		return label;
	WRITE_ONCE(tunable_inode(inode)->label, label);
	return 0;
}

/* Reading a label: every inode has one, on any file system. */
static int tunable_inode_getsecurity(struct tunable_idmap *idmap,
				     struct inode *inode, const char *name,
				     void **buffer, bool alloc)
{
	const char *label;

	if (strcmp(name, TUNABLE_XATTR_SUFFIX))
		return -EOPNOTSUPP;
	label = tunable_label_name(tunable_inode_label(inode));
	if (alloc) {
		*buffer = kstrdup(label, GFP_NOFS);
		if (!*buffer)
			return -ENOMEM;
	}
	return strlen(label);
}

/* Asked where the kernel cannot sleep: a label not read yet is not read. */
static void tunable_inode_getsecid(struct inode *inode, TUNABLE_SECID *secid)
{
	u32 label = READ_ONCE(tunable_inode(inode)->label);

	tunable_count(TUNABLE_INODE_GETSECID);
	tunable_put_secid(secid,
			  label == TUNABLE_UNKNOWN ? TUNABLE_IGNORED : label);
}

static struct security_hook_list tunable_inode_hooks[] __ro_after_init = {
	LSM_HOOK_INIT(inode_alloc_security, tunable_inode_alloc_security),
	LSM_HOOK_INIT(inode_init_security, tunable_inode_init_security),
	LSM_HOOK_INIT(d_instantiate, tunable_d_instantiate),
	LSM_HOOK_INIT(inode_create, tunable_inode_create),
	LSM_HOOK_INIT(inode_permission, tunable_inode_permission),
	LSM_HOOK_INIT(inode_setxattr, tunable_inode_setxattr),
	LSM_HOOK_INIT(inode_post_setxattr, tunable_inode_post_setxattr),
	LSM_HOOK_INIT(inode_removexattr, tunable_inode_removexattr),
	LSM_HOOK_INIT(inode_setsecurity, tunable_inode_setsecurity),
	LSM_HOOK_INIT(inode_getsecurity, tunable_inode_getsecurity),
	LSM_HOOK_INIT(TUNABLE_GETSECID, tunable_inode_getsecid),
};

void __init tunable_add_inode_hooks(void)
{
	security_add_hooks(tunable_inode_hooks, ARRAY_SIZE(tunable_inode_hooks),
			   TUNABLE_ID);
}
