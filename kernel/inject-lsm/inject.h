/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Injected costs - places, what they cost, and what they have cost
 */

#ifndef _SECURITY_INJECT_H
#define _SECURITY_INJECT_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/init.h>
#include <linux/types.h>

#include "burn.h"

#define INJECT_NAME "inject"

/**
 * enum inject_at - Places that can be made to cost more
 * @INJECT_GETATTR: hook of stat()
 * @INJECT_OPEN: hook of open(), once the file is known
 * @INJECT_RENAME: hook of rename()
 * @INJECT_SETATTR: hook of chmod() and the like
 * @INJECT_RMDIR: hook of rmdir()
 * @INJECT_MKDIR: hook of mkdir()
 * @INJECT_CREATE: hook of the creation of a regular file
 * @INJECT_PERMISSION: hook of read(), write() and the like
 * @INJECT_FILE_FREE: hook of the release of an open file
 * @INJECT_INODE_FREE: hook of the release of an inode
 * @INJECT_RCU: an RCU callback for each release of an open file
 * @INJECT_TASK: task work for each INJECT_SETATTR, run on the way out of the
 *               system call
 * @INJECT_WORK: an item of a work queue for each INJECT_MKDIR, a tick later
 * @INJECT_OUTSIDE: the inode operation behind stat() of a regular file, which
 *                  is below no hook
 * @INJECT_PLACES: their number
 */
enum inject_at {
	INJECT_GETATTR,
	INJECT_OPEN,
	INJECT_RENAME,
	INJECT_SETATTR,
	INJECT_RMDIR,
	INJECT_MKDIR,
	INJECT_CREATE,
	INJECT_PERMISSION,
	INJECT_FILE_FREE,
	INJECT_INODE_FREE,
	INJECT_RCU,
	INJECT_TASK,
	INJECT_WORK,
	INJECT_OUTSIDE,
	INJECT_PLACES,
};

/* What can be said of one place. */
#define INJECT_MAX_COSTS 16
#define INJECT_MAX_INSNS 1000000
#define INJECT_MAX_EVERY 4096
#define INJECT_MAX_BYTES 4096

/* Calls in which a pseudo-random share is exact: any one that holds 5 %. */
#define INJECT_BLOCK 20

/**
 * enum inject_shape - Which calls of a place cost more
 * @INJECT_ALWAYS: each
 * @INJECT_SHARE: so many of 100, evenly spread
 * @INJECT_RANDOM: so many of 100, in an order that follows no period: each
 *                 INJECT_BLOCK calls have their share
 * @INJECT_EVERY: one of so many
 */
enum inject_shape {
	INJECT_ALWAYS,
	INJECT_SHARE,
	INJECT_RANDOM,
	INJECT_EVERY,
};

/**
 * struct inject_cost - What a place was told to cost
 * @named: whether it was told anything
 * @n_insns: number of costs
 * @insns: costs in instructions, which calls that cost more take in turn
 * @shape: which calls those are
 * @number: the share in percent or the distance in calls, as @shape says
 */
struct inject_cost {
	bool named;
	unsigned int n_insns;
	u32 insns[INJECT_MAX_COSTS];
	enum inject_shape shape;
	unsigned int number;
};

/**
 * struct inject_place - A place, its costs call by call, and what it has cost
 * @name: as in the parameter
 * @cost: what it was told
 * @table: instructions of each call, taken in turn
 * @length: entries of @table
 * @calls: so far
 * @times: calls of those that cost more
 * @insns: instructions that all calls cost more, all together
 */
struct inject_place {
	const char *name;
	struct inject_cost cost;
	const u32 *table;
	u64 length;
	atomic64_t calls;
	atomic64_t times;
	atomic64_t insns;
};

extern struct inject_place inject_places[INJECT_PLACES];

/* cost.c */
#define INJECT_ERROR_MAX 120

extern bool inject_given;
extern char inject_error[INJECT_ERROR_MAX];
extern unsigned int inject_bytes;
extern bool inject_bytes_named;

/* place.c */
u64 inject_choose(struct inject_place *place);
int inject_prepare(struct inject_place *place);

/**
 * inject_cost_of - Let the function that this is part of cost more
 * @at: its place
 *
 * All but the instructions burnt is the same for every call and every cost, 0
 * included: who subtracts a boot with a cost of 0 is left with these alone.
 */
static __always_inline void inject_cost_of(enum inject_at at)
{
	inject_burn(inject_choose(&inject_places[at]));
}

/* deferred.c */
int inject_prepare_deferred(void);
void inject_call_rcu(void);
void inject_add_task_work(void);
void inject_queue_work(void);
extern atomic64_t inject_lost;

/* fs.c */
extern bool inject_active;

struct dentry;
struct inode;

/* outside.c */
void inject_swap_operations(struct inode *inode);

/* hooks.c */
void inject_add_hooks(void);

#endif /* _SECURITY_INJECT_H */
