/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tunable policy latency - labels, checks and hooks
 */

#ifndef _SECURITY_TUNABLE_H
#define _SECURITY_TUNABLE_H

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/lsm_hooks.h>
#include <linux/time64.h>
#include <linux/types.h>

#define TUNABLE_NAME "tunable"
#define TUNABLE_XATTR_SUFFIX "test"

/**
 * enum tunable_label - Label of a process or an inode
 * @TUNABLE_TRUSTED: set by the user
 * @TUNABLE_UNTRUSTED: set by the user
 * @TUNABLE_IGNORED: of all that nobody has labelled
 * @TUNABLE_UNKNOWN: of an inode that was not read from its file system yet;
 *                   never shown, and never the label of a process
 *
 * The first three numbers are part of the module's definition.
 */
enum tunable_label {
	TUNABLE_TRUSTED = 0,
	TUNABLE_UNTRUSTED = 1,
	TUNABLE_IGNORED = 2,
	TUNABLE_UNKNOWN = 3,
};

/* Bytes of the longest label, without a terminating null. */
#define TUNABLE_LABEL_MAX (sizeof("untrusted") - 1)

/**
 * struct tunable_inode_security - What the module keeps with each inode
 * @label: an enum tunable_label
 */
struct tunable_inode_security {
	u32 label;
};

/**
 * struct tunable_cred_security - What the module keeps with each credential
 * @label: an enum tunable_label
 */
struct tunable_cred_security {
	u32 label;
};

static_assert(sizeof(struct tunable_inode_security) == sizeof(u32));
static_assert(sizeof(struct tunable_cred_security) == sizeof(u32));

extern struct lsm_blob_sizes tunable_blob_sizes;

static inline struct tunable_inode_security *
tunable_inode(const struct inode *inode)
{
	return inode->i_security + tunable_blob_sizes.lbs_inode;
}

static inline struct tunable_cred_security *
tunable_cred(const struct cred *cred)
{
	return cred->security + tunable_blob_sizes.lbs_cred;
}

/* label.c */
const char *tunable_label_name(u32 label);
int tunable_label_parse(const void *value, size_t size);

/*
 * The longest latency that may be set. Checks of inodes run where the kernel
 * must not sleep, so that longer waits would starve the rest of the system.
 */
#define TUNABLE_LIMIT_NS (10 * NSEC_PER_MSEC)

/**
 * struct tunable_check - One kind of policy decision
 * @delay_ns: how long a decision takes at least
 * @calls: decisions asked for since @delay_ns was set
 * @waited_ns: time spent in them, all together
 */
struct tunable_check {
	u64 delay_ns;
	atomic64_t calls;
	atomic64_t waited_ns;
};

extern struct tunable_check tunable_inode_check;
extern struct tunable_check tunable_file_check;

/* check.c */
void tunable_check_wait(struct tunable_check *check);
int tunable_check_set(struct tunable_check *check, u64 delay_ns);

/**
 * enum tunable_hook - Hooks whose calls are counted and that do not wait
 * @TUNABLE_BPRM: a program is executed
 * @TUNABLE_INODE_ALLOC: an inode is allocated
 * @TUNABLE_INODE_INIT: a file is created and gets its label
 * @TUNABLE_INODE_SETXATTR: an extended attribute is about to be set
 * @TUNABLE_INODE_GETSECID: the kernel asks for the label of an inode
 * @TUNABLE_INODE_CREATE: a regular file is about to be created
 * @TUNABLE_HOOKS: their number
 */
enum tunable_hook {
	TUNABLE_BPRM,
	TUNABLE_INODE_ALLOC,
	TUNABLE_INODE_INIT,
	TUNABLE_INODE_SETXATTR,
	TUNABLE_INODE_GETSECID,
	TUNABLE_INODE_CREATE,
	TUNABLE_HOOKS,
};

extern atomic64_t tunable_hook_calls[TUNABLE_HOOKS];

static inline void tunable_count(enum tunable_hook hook)
{
	atomic64_inc(&tunable_hook_calls[hook]);
}

/* inode.c */
u32 tunable_inode_label(struct inode *inode);

/* fs.c */
extern bool tunable_active;

/* Each adds the hooks of the object that it is named after. */
void tunable_add_bprm_hooks(void);
void tunable_add_file_hooks(void);
void tunable_add_inode_hooks(void);

#endif /* _SECURITY_TUNABLE_H */
