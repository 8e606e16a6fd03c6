/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose each instruction is: tasks by the address that their stack pointer is saved at, the account
 * of each, and what runs in its place now and then (interrupts, softirqs) or inside (a hook).
 *
 * What was counted since the last change belongs to what ran until then, so that counting itself
 * needs no callback: accounts_settle() is called before anything changes.
 */
#ifndef LSMETER_ACCOUNTS_H
#define LSMETER_ACCOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define MAX_MODULES 48	 /* whose code is counted apart; counters 1 to MAX_MODULES */
#define MAX_HOOKS   512	 /* as probe/protocol/limits.h has it */
#define MAX_CALLS   2048 /* functions that system calls begin with, two of some */
#define MAX_TASKS   8192 /* at a time: addresses are used again */

enum account {
	ACCOUNT_NONE,
	ACCOUNT_SERVICE, /* the first three as the payload of MARKER_ACCOUNT */
	ACCOUNT_CLIENT,
	ACCOUNT_DRIVER,
	ACCOUNT_THREADS,    /* of the kernel */
	ACCOUNT_INTERRUPTS, /* and softirqs, whoever they interrupt: the network of both ends */
	ACCOUNT_CLOCK,	    /* what comes with time: ticks, timers, grace periods */
	ACCOUNT_CLEANUP,    /* what a client or the driver put off */
	ACCOUNT_IDLE,
	ACCOUNTS,
};

enum frame_kind {
	FRAME_TASK,
	FRAME_FAULT,	 /* an exception: on behalf of what it interrupts */
	FRAME_INTERRUPT, /* asynchronous */
	FRAME_TICK,	 /* the same, of the clock */
	FRAME_SOFTIRQ,
};

/* Start counting: the task that runs is not known yet. */
void accounts_init(unsigned int modules, unsigned int hooks, unsigned int calls);

/* Charge what was counted until now to whoever ran. */
void accounts_settle(void);

/* The marker of an account, executed by the task that belongs to it from now on. */
void accounts_mark(enum account account);

/* The task that runs is switched away from; at: where its stack pointer is saved. */
void accounts_leave(uint64_t at);

/* Another task is switched to; sp_offset is that of the place in its task_struct. */
void accounts_enter(uint64_t at, uint64_t sp_offset);

/* Whoever runs is about to let a new task run, and touches its task_struct (and others) here. */
void accounts_make(void);
void accounts_touch(uint64_t address);

/* An exception, an interrupt or a softirq begins. */
void accounts_push(enum frame_kind kind);

/* The softirq that runs, if one does, begins with what is on this account. */
void accounts_serve(enum account account);

/* The interrupt that runs, taken for one of the clock until now, is of a device. */
void accounts_device(void);

/*
 * Whoever runs puts work off, to be done by a callback or a thread; then that is done: what runs is
 * on the account of who put it off, until accounts_deferred_end(). Work is known by an address;
 * delayed: a timer will queue it, which is not who put it off.
 */
void accounts_defer(uint64_t address, bool delayed);
void accounts_deferred(uint64_t address);
void accounts_deferred_end(void);

/*
 * An interrupt returns, or a softirq ends: the frame on top goes if it is of that kind. Where there
 * is none, what returns is the way to user space.
 */
void accounts_pop(bool softirq);

/* User space has called: nothing of the kernel is under way in this task. */
void accounts_syscall(void);

/* The function that a system call begins with is entered: what it takes is its own from now on. */
void accounts_call(unsigned int number);

/* What a system call returns is stored; NULL: it cannot be read. */
void accounts_result(const int64_t *value);

/* The instruction that runs leads back to user space. */
void accounts_return(void);

/* SELinux looks into its access vector cache; or, a part of that, does not find what it seeks. */
void accounts_avc(bool miss);

/* A call of a hook pushed its return address to slot. */
void accounts_hook_slot(uint64_t slot);

/* A hook is entered. */
void accounts_hook_enter(unsigned int hook);

/* A return from slot, in the code of this hook (-1: of a module). */
void accounts_hook_return(uint64_t slot, int hook);

/*
 * The code of a hook put a word on the stack: the first one lies beside the return address of a
 * hook that was not called, but jumped to from what its caller called.
 */
void accounts_hook_push(uint64_t slot);

/* The code of a hook or a module took what was at slot from the stack. */
void accounts_hook_pop(uint64_t slot);

/* That code jumps to what is no part of it; from a module, perhaps deep inside the hook. */
void accounts_hook_jump(int hook);

/* A region begins: all sums are 0. */
void accounts_clear(void);

/* Write all sums that are not 0 as lines; names by module, by hook and by system call. */
void accounts_write(FILE *out, const char *const *module, const char *const *hook,
		    const char *const *call);

#endif
