// SPDX-License-Identifier: GPL-2.0-or-later
#include "shadow.h"

#include <stdlib.h>

bool shadow_init(struct shadow *shadow, uint64_t stack_bytes)
{
	*shadow = (struct shadow){.stack_mask = ~(stack_bytes - 1)};
	for (int i = 0; i < MAX_TASKS; i++) {
		shadow->tasks[i].frames = calloc(MAX_FRAMES, sizeof(struct frame));
		if (!shadow->tasks[i].frames)
			return false;
	}
	return calltree_init(&shadow->tree);
}

static struct task *running(struct shadow *shadow)
{
	return &shadow->tasks[shadow->current];
}

static struct frame *top(struct task *task)
{
	return task->depth ? &task->frames[task->depth - 1] : NULL;
}

static uint32_t current_node(struct shadow *shadow)
{
	struct frame *frame = top(running(shadow));

	if (shadow->in_user)
		return NODE_USER;
	return frame ? frame->node : NODE_RESUMED;
}

static void charge(struct shadow *shadow, uint64_t now)
{
	now -= shadow->again;
	shadow->tree.nodes[current_node(shadow)].self_insns += (int64_t)(now - shadow->last);
	shadow->last = now;
}

void shadow_begin(struct shadow *shadow, uint64_t now)
{
	calltree_reset(&shadow->tree);
	for (int i = 0; i < MAX_TASKS; i++) {
		shadow->tasks[i].depth = 0;
		shadow->tasks[i].home = 0;
	}
	shadow->current = 0;
	shadow->next = 0;
	shadow->in_user = true;
	shadow->switching = false;
	shadow->damaged = false;
	shadow->again = 0;
	shadow->last = now;
}

void shadow_end(struct shadow *shadow, uint64_t now)
{
	charge(shadow, now);
	if (shadow->tree.overflow)
		shadow->damaged = true;
}

static void push(struct shadow *shadow, struct frame frame)
{
	struct task *task = running(shadow);

	if (task->depth == MAX_FRAMES) {
		shadow->damaged = true;
		return;
	}
	task->frames[task->depth++] = frame;
}

/* Make the task that owns the stack of this slot the running one. */
static void switch_task(struct shadow *shadow, uint64_t slot)
{
	uint64_t home = slot & shadow->stack_mask;
	uint32_t i;

	shadow->switching = false;
	for (i = 0; i < MAX_TASKS; i++)
		if (shadow->tasks[i].home == home)
			break;
	if (i == MAX_TASKS) {
		/* Not seen yet: take an unused entry, or the one after the last that was taken. */
		for (i = 0; i < MAX_TASKS && shadow->tasks[i].home; i++)
			;
		if (i == MAX_TASKS) {
			shadow->next = (shadow->next + 1) % MAX_TASKS;
			if (shadow->next == shadow->current)
				shadow->next = (shadow->next + 1) % MAX_TASKS;
			i = shadow->next;
		}
		shadow->tasks[i].home = home;
		shadow->tasks[i].depth = 0;
	}
	shadow->current = i;
}

/*
 * Pop what can no longer be active when the slot is written or read: frames at or below it, and
 * frames on other stacks that were entered from this one. A stack without frames tells nothing.
 */
static void unwind(struct shadow *shadow, uint64_t slot)
{
	struct task *task = running(shadow);
	uint64_t base = slot & shadow->stack_mask;
	uint32_t depth = task->depth;

	while (depth && (task->frames[depth - 1].slot & shadow->stack_mask) != base)
		depth--;
	if (!depth)
		return;
	while (depth && (task->frames[depth - 1].slot & shadow->stack_mask) == base &&
	       task->frames[depth - 1].slot <= slot)
		depth--;
	task->depth = depth;
}

/* The frame of a system call or exception lies just above the first slot that is used after it. */
static void place_top(struct shadow *shadow, uint64_t slot)
{
	struct frame *frame = top(running(shadow));

	if (frame && !frame->slot)
		frame->slot = slot + 1;
}

void shadow_call(struct shadow *shadow, uint64_t slot, uint64_t now)
{
	charge(shadow, now);
	if (shadow->in_user)
		return;
	if (shadow->switching)
		switch_task(shadow, slot);
	place_top(shadow, slot);
	unwind(shadow, slot);
	push(shadow, (struct frame){.slot = slot, .node = current_node(shadow)});
}

void shadow_return(struct shadow *shadow, uint64_t slot, uint64_t now)
{
	charge(shadow, now);
	if (shadow->in_user)
		return;
	if (shadow->switching)
		switch_task(shadow, slot);
	place_top(shadow, slot);
	unwind(shadow, slot);
}

static void enter(struct shadow *shadow, struct frame *frame, const char *name)
{
	frame->node = calltree_child(&shadow->tree, frame->node, name);
	frame->entered = true;
	shadow->tree.nodes[frame->node].calls++;
}

/* A system call, exception or interrupt: nothing was pushed that a callback sees. */
static void enter_kernel(struct shadow *shadow, const struct symbol *symbol)
{
	struct frame frame = {.node = NODE_ROOT, .trap = symbol->kind != SYM_SYSCALL};
	const struct frame *before = top(running(shadow));

	/* The stub of a vector jumps to the code that all share: one interrupt, not two. */
	if (symbol->kind == SYM_INTERRUPT && !shadow->in_user && before && before->trap &&
	    !before->slot)
		return;
	if (symbol->kind == SYM_INTERRUPT)
		frame.node = NODE_INTERRUPT;
	else if (!shadow->in_user)
		frame.node = current_node(shadow);
	if (shadow->in_user)
		running(shadow)->depth = 0;
	shadow->in_user = false;
	enter(shadow, &frame, symbol->name);
	push(shadow, frame);
}

/*
 * A function entered without a call runs in its caller's place, on the same return slot: a tail
 * call. One that is on this slot already is a loop back to its first instruction.
 */
static void enter_by_jump(struct shadow *shadow, const struct symbol *symbol)
{
	struct task *task = running(shadow);
	struct frame *frame = top(task), next;

	for (uint32_t i = task->depth; i-- > 0 && task->frames[i].slot == frame->slot;) {
		if (shadow->tree.nodes[task->frames[i].node].name == symbol->name) {
			task->depth = i + 1;
			return;
		}
	}
	next = (struct frame){.slot = frame->slot, .node = frame->node};
	enter(shadow, &next, symbol->name);
	push(shadow, next);
}

void shadow_entry(struct shadow *shadow, const struct symbol *symbol, uint64_t now)
{
	struct frame *frame = top(running(shadow));

	switch (symbol->kind) {
	case SYM_FAULT:
		charge(shadow, now - 1);
		shadow->again++;
		enter_kernel(shadow, symbol);
		return;
	case SYM_SYSCALL:
	case SYM_TRAP:
	case SYM_INTERRUPT:
		charge(shadow, now);
		enter_kernel(shadow, symbol);
		return;
	default:
		break;
	}
	charge(shadow, now);
	if (symbol->kind == SYM_SWITCH) {
		shadow->switching = true;
		if (frame && frame->slot)
			running(shadow)->home = frame->slot & shadow->stack_mask;
	}
	if (shadow->in_user || !frame) {
		/* From user space by a way in that has no symbol of its own, or callers unknown. */
		struct frame first = {.slot = UINT64_MAX, .node = NODE_RESUMED};

		if (shadow->in_user) {
			first.node = NODE_ROOT;
			running(shadow)->depth = 0;
			shadow->in_user = false;
		}
		enter(shadow, &first, symbol->name);
		push(shadow, first);
	} else if (frame->entered) {
		enter_by_jump(shadow, symbol);
	} else {
		enter(shadow, frame, symbol->name);
	}
}

void shadow_unknown(struct shadow *shadow, const char *name, uint64_t now)
{
	struct frame *frame = top(running(shadow));

	if (!frame || frame->entered || shadow->in_user)
		return;
	charge(shadow, now);
	enter(shadow, frame, name);
}

void shadow_iret(struct shadow *shadow, uint64_t now)
{
	struct task *task = running(shadow);

	charge(shadow, now + 1); /* the iretq itself is still the handler's */
	for (uint32_t i = task->depth; i-- > 0;) {
		if (task->frames[i].trap) {
			task->depth = i;
			return;
		}
	}
}

void shadow_user(struct shadow *shadow, uint64_t now)
{
	if (shadow->in_user)
		return;
	charge(shadow, now);
	running(shadow)->depth = 0;
	shadow->in_user = true;
}
