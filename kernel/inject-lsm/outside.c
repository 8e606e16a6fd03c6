// SPDX-License-Identifier: GPL-2.0-only
/*
 * Injected costs - outside of hooks
 *
 * Regular files get a copy of their inode operations in which the one behind
 * stat() costs more and then calls the original: nothing of it is below a hook.
 */

#include <linux/container_of.h>
#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "compat.h"
#include "inject.h"

/**
 * struct inject_copy - Inode operations, and whose copy they are
 * @copy: what the inode has; const from when any inode has it
 * @original: what it had before
 * @next: another one; file systems differ in them
 */
struct inject_copy {
	const struct inode_operations copy;
	const struct inode_operations *original;
	struct inject_copy *next;
};

static struct inject_copy *inject_copies;
static DEFINE_SPINLOCK(inject_copies_lock);

static int inject_outside_getattr(struct inject_idmap *idmap,
				  const struct path *path, struct kstat *stat,
				  u32 request_mask, unsigned int flags)
{
	const struct inode_operations *own = d_inode(path->dentry)->i_op;
	const struct inject_copy *copy =
		container_of(own, struct inject_copy, copy);

	inject_cost_of(INJECT_OUTSIDE);
	return copy->original->getattr(idmap, path, stat, request_mask, flags);
}

static struct inject_copy *inject_copy_of(const struct inode_operations *from)
{
	struct inject_copy *copy;
	typeof(inject_outside_getattr) **getattr;

	for (copy = inject_copies; copy; copy = copy->next)
		if (copy->original == from)
			return copy;
	copy = kmalloc(sizeof(*copy), GFP_ATOMIC);
	if (!copy)
		return NULL;
	memcpy((void *)&copy->copy, from, sizeof(*from));
	getattr = (void *)&copy->copy.getattr;
	*getattr = inject_outside_getattr;
	copy->original = from;
	copy->next = inject_copies;
	inject_copies = copy;
	return copy;
}

/**
 * inject_swap_operations - Give a regular file operations that cost more
 * @inode: any inode; others stay as they are
 */
void inject_swap_operations(struct inode *inode)
{
	struct inject_copy *copy;

	if (!inject_places[INJECT_OUTSIDE].cost.named ||
	    !S_ISREG(inode->i_mode) || !inode->i_op->getattr ||
	    inode->i_op->getattr == inject_outside_getattr)
		return;
	spin_lock(&inject_copies_lock);
	copy = inject_copy_of(inode->i_op);
	if (copy)
		inode->i_op = &copy->copy;
	spin_unlock(&inject_copies_lock);
}
