/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tunable policy latency - all that differs between kernel versions
 *
 * Kconfig finds out what the tree has. Each part says since when it has it.
 */

#ifndef _SECURITY_TUNABLE_COMPAT_H
#define _SECURITY_TUNABLE_COMPAT_H

#include <linux/lsm_hooks.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/xattr.h>

#include "tunable.h"

/* Linux 6.3: mounts have an ID mapping of their own type. */
#ifdef CONFIG_SECURITY_TUNABLE_MNT_IDMAP
#define tunable_idmap mnt_idmap
#else
#define tunable_idmap user_namespace
#endif

/* Linux 6.8: a module has a number, which no other module may have. */
#ifdef CONFIG_SECURITY_TUNABLE_LSM_ID
#define TUNABLE_LSM_ID 0x74756e65
#define TUNABLE_ID (&tunable_lsmid)

extern const struct lsm_id tunable_lsmid;
#else
#define TUNABLE_ID TUNABLE_NAME
#endif

/* Linux 6.19: the framework takes the name of a module from there, too. */
#ifdef CONFIG_SECURITY_TUNABLE_INFO_ID
#define TUNABLE_LSM_NAME .id = &tunable_lsmid
#else
#define TUNABLE_LSM_NAME .name = TUNABLE_NAME
#endif

/*
 * Linux 6.6: several modules can label a new inode, each in a slot of its own
 * that it must ask for.
 */
#ifdef CONFIG_SECURITY_TUNABLE_XATTR_SLOTS
#define TUNABLE_XATTR_BLOB .lbs_xattr_count = 1

static inline int tunable_put_xattr(const char *label, struct xattr *xattrs,
				    int *xattr_count)
{
	struct xattr *slot;
	char *value;

	if (!xattrs)
		return 0;
	value = kstrdup(label, GFP_NOFS);
	if (!value)
		return -ENOMEM;
	slot = lsm_get_xattr_slot(xattrs, xattr_count);
	slot->name = TUNABLE_XATTR_SUFFIX;
	slot->value = value;
	slot->value_len = strlen(value);
	return 0;
}

#define TUNABLE_NEW_XATTR struct xattr *xattrs, int *xattr_count
#define TUNABLE_PUT_XATTR(label) tunable_put_xattr(label, xattrs, xattr_count)
#else
#define TUNABLE_XATTR_BLOB

static inline int tunable_put_xattr(const char *label, const char **name,
				    void **value, size_t *len)
{
	if (name)
		*name = TUNABLE_XATTR_SUFFIX;
	if (value && len) {
		*value = kstrdup(label, GFP_NOFS);
		if (!*value)
			return -ENOMEM;
		*len = strlen(label);
	}
	return 0;
}

#define TUNABLE_NEW_XATTR const char **name, void **value, size_t *len
#define TUNABLE_PUT_XATTR(label) tunable_put_xattr(label, name, value, len)
#endif

/*
 * Linux 6.11: the framework itself asks whether the caller may change security
 * attributes. Before, a module with such a hook had to.
 */
static inline int tunable_may_setxattr(struct dentry *dentry, const char *name,
				       const void *value, size_t size,
				       int flags)
{
#ifdef CONFIG_SECURITY_TUNABLE_XATTR_SKIPCAP
	return 0;
#else
	return cap_inode_setxattr(dentry, name, value, size, flags);
#endif
}

static inline int tunable_may_removexattr(struct tunable_idmap *idmap,
					  struct dentry *dentry,
					  const char *name)
{
#ifdef CONFIG_SECURITY_TUNABLE_XATTR_SKIPCAP
	return 0;
#else
	return cap_inode_removexattr(idmap, dentry, name);
#endif
}

/*
 * Linux 6.13: a security ID became a structure with a field for each of the
 * kernel's own modules that has labels. There is no room for this module: it
 * sees that it was asked, and user space reads labels as before.
 */
#ifdef CONFIG_SECURITY_TUNABLE_LSMPROP
#define TUNABLE_GETSECID inode_getlsmprop
#define TUNABLE_SECID struct lsm_prop

static inline void tunable_put_secid(TUNABLE_SECID *prop, u32 label)
{
}
#else
#define TUNABLE_GETSECID inode_getsecid
#define TUNABLE_SECID u32

/* The kernel takes ID 0 for none, so that labels begin at 1. */
static inline void tunable_put_secid(TUNABLE_SECID *secid, u32 label)
{
	*secid = label + 1;
}
#endif

#endif /* _SECURITY_TUNABLE_COMPAT_H */
