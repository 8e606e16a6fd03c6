/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frames of the running task, for what follows calls by their slots and by their links. */
#ifndef LSMETER_STACK_H
#define LSMETER_STACK_H

#include "shadow.h"

static inline struct task *running(struct shadow *shadow)
{
	return &shadow->tasks[shadow->current];
}

static inline struct frame *top(struct task *task)
{
	return task->depth ? &task->frames[task->depth - 1] : NULL;
}

/* Charge what ran up to now, where the function that the last instruction lies in is known. */
void shadow_charge_in(struct shadow *shadow, const struct symbol *function, uint64_t now);

/* Make the task that has this home the running one. */
void shadow_switch(struct shadow *shadow, uint64_t home);

/*
 * Pop what can no longer be active when the slot is written or read: frames at or below it, and
 * frames on other stacks that were entered from this one. A stack without frames shows nothing.
 */
void shadow_unwind(struct shadow *shadow, uint64_t slot);

#endif
