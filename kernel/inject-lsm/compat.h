/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Injected costs - all that differs between kernel versions
 *
 * Kconfig finds out what the tree has. Each part says since when it has it.
 */

#ifndef _SECURITY_INJECT_COMPAT_H
#define _SECURITY_INJECT_COMPAT_H

#include <linux/lsm_hooks.h>
#include <linux/security.h>

#include "inject.h"

/* Linux 6.3: mounts have an ID mapping of their own type. */
#ifdef CONFIG_SECURITY_INJECT_MNT_IDMAP
#define inject_idmap mnt_idmap
#else
#define inject_idmap user_namespace
#endif

/* Linux 6.9: the hook of a change of attributes is told the mapping. */
#ifdef CONFIG_SECURITY_INJECT_SETATTR_IDMAP
#define INJECT_SETATTR_ARGS \
	struct inject_idmap *idmap, struct dentry *dentry, struct iattr *attr
#else
#define INJECT_SETATTR_ARGS struct dentry *dentry, struct iattr *attr
#endif

/* Linux 6.8: a module has a number, which no other module may have. */
#ifdef CONFIG_SECURITY_INJECT_LSM_ID
#define INJECT_LSM_ID 0x696e6a65
#define INJECT_ID (&inject_lsmid)

extern const struct lsm_id inject_lsmid;
#else
#define INJECT_ID INJECT_NAME
#endif

/* Linux 6.19: the framework takes the name of a module from there, too. */
#ifdef CONFIG_SECURITY_INJECT_INFO_ID
#define INJECT_LSM_NAME .id = &inject_lsmid
#else
#define INJECT_LSM_NAME .name = INJECT_NAME
#endif

/* What belongs to each inode in any case, as with modules that have labels. */
#define INJECT_BLOB_BYTES sizeof(u64)

extern struct lsm_blob_sizes inject_blob_sizes;

#endif /* _SECURITY_INJECT_COMPAT_H */
