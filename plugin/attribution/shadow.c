// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack.h"

#include <stdlib.h>

bool shadow_init(struct shadow *shadow, uint64_t stack_bytes, struct events *events)
{
	*shadow = (struct shadow){.events = events,
				  .stack_mask = stack_bytes ? ~(stack_bytes - 1) : 0};
	for (int i = 0; i < MAX_TASKS; i++) {
		shadow->tasks[i].frames = calloc(MAX_FRAMES, sizeof(struct frame));
		if (!shadow->tasks[i].frames)
			return false;
	}
	return calltree_init(&shadow->tree, events);
}

static uint32_t current_node(struct shadow *shadow)
{
	struct frame *frame = top(running(shadow));

	if (shadow->in_user)
		return NODE_USER;
	return frame ? frame->node : NODE_RESUMED;
}

static void charge_node(struct shadow *shadow, uint32_t node, uint64_t now)
{
	events_charge(shadow->events, shadow->tree.events, node, now);
	now -= shadow->again;
	shadow->tree.nodes[node].self_insns += (int64_t)(now - shadow->last);
	shadow->last = now;
}

static void charge(struct shadow *shadow, uint64_t now)
{
	charge_node(shadow, current_node(shadow), now);
}

/* The node of a function whose callers are unknown. */
static uint32_t resumed_node(struct shadow *shadow, const struct symbol *function)
{
	return function ? calltree_child(&shadow->tree, NODE_RESUMED, function->name)
			: NODE_RESUMED;
}

void shadow_charge_in(struct shadow *shadow, const struct symbol *function, uint64_t now)
{
	if (!shadow->in_user && !running(shadow)->depth)
		charge_node(shadow, resumed_node(shadow, function), now);
	else
		charge(shadow, now);
}

static void forget(struct task *task)
{
	*task = (struct task){.frames = task->frames};
}

void shadow_begin(struct shadow *shadow, uint64_t now)
{
	calltree_reset(&shadow->tree);
	for (int i = 0; i < MAX_TASKS; i++)
		forget(&shadow->tasks[i]);
	shadow->current = 0;
	shadow->switches = 0;
	shadow->in_user = true;
	shadow->switching = shadow->damaged = false;
	shadow->again = shadow->user_since = 0;
	shadow->block = NULL;
	shadow->last = now;
}

void shadow_end(struct shadow *shadow, uint64_t now)
{
	charge(shadow, now);
	shadow->damaged |= shadow->tree.overflow;
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

/* The entry of the task with this stack; if it was not seen yet, the one to take for it. */
static uint32_t find_task(const struct shadow *shadow, uint64_t home)
{
	uint32_t oldest = 0;

	for (uint32_t i = 0; i < MAX_TASKS; i++) {
		if (shadow->tasks[i].home == home)
			return i;
		if (shadow->tasks[i].ran < shadow->tasks[oldest].ran)
			oldest = i;
	}
	return oldest;
}

void shadow_switch(struct shadow *shadow, uint64_t home)
{
	shadow->switching = false;
	running(shadow)->ran = ++shadow->switches;
	/* A task ends on its own stack, which another one may get. */
	if (running(shadow)->dead)
		forget(running(shadow));
	shadow->current = find_task(shadow, home);
	if (running(shadow)->home == home)
		return;
	running(shadow)->home = home;
	running(shadow)->depth = 0;
}

static bool same_stack(const struct shadow *shadow, uint64_t slot, uint64_t other)
{
	return (slot & shadow->stack_mask) == (other & shadow->stack_mask);
}

void shadow_unwind(struct shadow *shadow, uint64_t slot)
{
	struct task *task = running(shadow);
	uint32_t depth = task->depth;

	while (depth && !same_stack(shadow, task->frames[depth - 1].slot, slot))
		depth--;
	if (!depth)
		return;
	while (depth && task->frames[depth - 1].slot <= slot &&
	       same_stack(shadow, task->frames[depth - 1].slot, slot))
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

void shadow_call(struct shadow *shadow, const struct symbol *function, uint64_t slot, uint64_t now)
{
	shadow_charge_in(shadow, function, now);
	if (shadow->in_user)
		return;
	if (shadow->switching && shadow->stack_mask)
		shadow_switch(shadow, slot & shadow->stack_mask);
	place_top(shadow, slot);
	shadow_unwind(shadow, slot);
	if (!running(shadow)->depth && function)
		push(shadow, (struct frame){
				     .slot = slot + 1,
				     .node = resumed_node(shadow, function),
				     .entered = true,
				     .guessed = true,
			     });
	push(shadow, (struct frame){.slot = slot, .node = current_node(shadow)});
}

/*
 * Whether a return ends the function of the top frame although the slot that it reads does not
 * show it: nothing was called in it yet, or it moved its return address, also to another stack.
 */
static bool returns_without_slot(struct shadow *shadow, const struct symbol *function,
				 uint64_t slot)
{
	const struct frame *frame = top(running(shadow));

	if (!frame || !frame->entered || frame->trap)
		return false;
	if (!frame->slot)
		return frame->guessed;
	return function && shadow->tree.nodes[frame->node].name == function->name &&
	       (slot < frame->slot || !same_stack(shadow, slot, frame->slot));
}

void shadow_return(struct shadow *shadow, const struct symbol *function, uint64_t slot,
		   uint64_t now)
{
	shadow_charge_in(shadow, function, now);
	if (shadow->in_user)
		return;
	if (shadow->switching)
		shadow_switch(shadow, slot & shadow->stack_mask);
	if (returns_without_slot(shadow, function, slot))
		running(shadow)->depth--;
	place_top(shadow, slot);
	shadow_unwind(shadow, slot);
}

static void enter(struct shadow *shadow, struct frame *frame, const char *name)
{
	frame->node = calltree_child(&shadow->tree, frame->node, name);
	frame->entered = true;
	shadow->tree.nodes[frame->node].calls++;
}

/* A system call, exception or interrupt: nothing was pushed that a callback sees. */
static void enter_kernel(struct shadow *shadow, const struct symbol *symbol, enum symbol_kind kind)
{
	struct frame frame = {
		.node = NODE_ROOT,
		.trap = kind != SYM_SYSCALL,
		.user = shadow->in_user,
	};
	const struct frame *before = top(running(shadow));

	/* The stub of a vector jumps to the code that all share: one interrupt, not two. */
	if (kind == SYM_INTERRUPT && !shadow->in_user && before && before->trap && !before->slot)
		return;
	if (kind == SYM_INTERRUPT)
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
	next = (struct frame){.slot = frame->slot, .back = frame->back, .node = frame->node};
	enter(shadow, &next, symbol->name);
	push(shadow, next);
}

/* A function entered where nothing is known of its callers, or a new task's first one. */
static void enter_first(struct shadow *shadow, const struct symbol *symbol, uint32_t parent)
{
	struct frame first = {.node = parent, .user = parent == NODE_ROOT, .guessed = true};

	running(shadow)->depth = 0;
	shadow->in_user = false;
	enter(shadow, &first, symbol->name);
	push(shadow, first);
}

static void leave_task(struct shadow *shadow)
{
	const struct frame *frame = top(running(shadow));

	shadow->switching = true;
	shadow->stored = false;
	shadow->next = 0;
	if (frame && frame->slot && shadow->stack_mask)
		running(shadow)->home = frame->slot & shadow->stack_mask;
}

/* The last instruction did not take place and will be repeated, unless the next one's fetch
 * faulted. */
static void fault(struct shadow *shadow, uint64_t now)
{
	const struct block *block = shadow->block;

	if (shadow->in_user && now == shadow->user_since) {
		charge(shadow, now);
		return;
	}
	events_fault(shadow->events, now);
	charge(shadow, now - 1);
	shadow->again++;
	/* At the end of a block only what runs afterwards shows which of the two it was. */
	if (shadow->in_user && block && now - shadow->block_since == block->insns)
		running(shadow)->retry = block->last;
}

void shadow_entry(struct shadow *shadow, const struct symbol *symbol, enum symbol_kind kind,
		  uint64_t now)
{
	struct frame *frame = top(running(shadow));
	bool called = frame && !frame->entered;

	switch (kind) {
	case SYM_FAULT:
		fault(shadow, now);
		enter_kernel(shadow, symbol, kind);
		return;
	case SYM_SYSCALL:
	case SYM_TRAP:
	case SYM_INTERRUPT:
		charge(shadow, now);
		enter_kernel(shadow, symbol, kind);
		return;
	default:
		break;
	}
	charge(shadow, now);
	if (kind == SYM_SWITCH)
		leave_task(shadow);
	if (kind == SYM_DEAD)
		running(shadow)->dead = true;
	if (shadow->in_user || (kind == SYM_START && !called))
		/* From user space by a way in that has no symbol of its own, or a new task. */
		enter_first(shadow, symbol, NODE_ROOT);
	else if (!frame)
		enter_first(shadow, symbol, NODE_RESUMED);
	else if (called)
		enter(shadow, frame, symbol->name);
	else
		enter_by_jump(shadow, symbol);
}

void shadow_unknown(struct shadow *shadow, const char *name, uint64_t now)
{
	struct frame *frame = top(running(shadow));

	if (!frame || frame->entered || shadow->in_user)
		return;
	charge(shadow, now);
	enter(shadow, frame, name);
}

/* What is about to run is the last instruction in the kernel. */
static void return_to_user(struct shadow *shadow, uint64_t now)
{
	running(shadow)->depth = 0;
	shadow->in_user = true;
	shadow->user_since = now + 1;
}

void shadow_iret(struct shadow *shadow, uint64_t now)
{
	struct task *task = running(shadow);
	uint32_t depth = task->depth;

	charge(shadow, now + 1); /* the iretq itself is still the handler's */
	while (depth && !task->frames[depth - 1].trap)
		depth--;
	if (depth) {
		task->depth = depth - 1;
		if (task->frames[depth - 1].user)
			return_to_user(shadow, now);
	} else if (task->depth && task->frames[0].user && top(task)->slot == task->frames[0].slot) {
		return_to_user(shadow, now); /* from a system call, or a new task's first time */
	} else if (task->depth && task->frames[0].guessed) {
		task->depth = 0; /* the end of what was entered before the sample began */
	}
}

void shadow_sysret(struct shadow *shadow, uint64_t now)
{
	charge(shadow, now + 1);
	return_to_user(shadow, now);
}

void shadow_user(struct shadow *shadow, const struct block *block, uint64_t now)
{
	struct task *task = running(shadow);

	if (!shadow->in_user) {
		charge(shadow, now);
		task->depth = 0;
		shadow->in_user = true;
	}
	if (task->retry && task->retry != block->first) {
		shadow->again--;
		events_no_repeat(shadow->events);
	}
	task->retry = 0;
	shadow->block = block;
	shadow->block_since = now;
}
