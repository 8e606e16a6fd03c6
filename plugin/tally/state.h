/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What accounts.c, calls.c and sums.c know: tasks with their frames, and all sums. */
#ifndef LSMETER_STATE_H
#define LSMETER_STATE_H

#include "accounts.h"

#define MAX_FRAMES  16
#define MAX_TOUCHED 4096
#define NO_HOOK	    -1
#define NO_CALL	    -1 /* in user space, or in the kernel for another reason */
#define ENTERING    -2 /* in a system call, and not yet in its function */
#define MAX_PUT_OFF 65536

struct frame {
	enum frame_kind kind;
	enum account account; /* none: the task's */
	int hook;
	uint64_t slot; /* where the hook's return address is; 0: not known */
};

struct task {
	uint64_t at; /* where its stack pointer is saved; 0: not known yet, or a free entry */
	enum account account;
	unsigned int top;
	struct frame frame[MAX_FRAMES];
	int call;
	bool returning;			/* to user space, by the instruction that runs */
	uint64_t entering[MAX_MODULES]; /* instructions, until the call is known */
};

/* What a system call took. */
struct call {
	uint64_t calls, errors;
	uint64_t kernel[MAX_MODULES];
};

struct sums {
	uint64_t user, syscalls, results, switches, avc_lookups, avc_misses;
	uint64_t kernel[MAX_MODULES];
	struct call call[MAX_CALLS];
	struct {
		uint64_t calls, insns;
	} hook[MAX_HOOKS];
};

struct accounts {
	unsigned int modules, hooks, calls;
	struct sums of[ACCOUNTS];
	uint64_t last[MAX_MODULES + 1];
	struct task task[MAX_TASKS];
	struct task first; /* runs when counting begins */
	struct task *now;
	struct {
		uint64_t address;
		enum account account;
		uint64_t making; /* which task's: 0: of none that is still to run */
	} touched[MAX_TOUCHED];
	unsigned int next_touched;
	struct {
		uint64_t address;
		enum account account;
	} put_off[MAX_PUT_OFF];
	uint64_t making;     /* how many tasks were made */
	unsigned int unborn; /* of them, those that have not run yet */
	uint64_t slot;	     /* of the call of a hook that is under way */
	uint64_t popped;     /* where the last word was that a hook or a module popped */
	uint64_t lost;	     /* tasks without room, frames beyond the limit */
	uint64_t unread;     /* results of system calls that could not be read */
};

extern struct accounts all;

/* The frame on top of the task that runs. */
static inline struct frame *top(void)
{
	return &all.now->frame[all.now->top];
}

static inline enum account account_now(void)
{
	return top()->account == ACCOUNT_NONE ? all.now->account : top()->account;
}

/* Nothing of the kernel is under way in a task. */
void reset_task(struct task *task);

/* Where the instructions of what runs go besides, by module; NULL: into no system call. */
uint64_t *call_now(void);

#endif
