// SPDX-License-Identifier: GPL-2.0-or-later
#include "qemu_api.h"
#include "state.h"

#include <stdlib.h>

#define STATE_BYTES 64 /* of a task_struct, in which the task's state is */

struct accounts all;

void reset_task(struct task *task)
{
	task->top = 0;
	task->frame[0] = (struct frame){.kind = FRAME_TASK, .hook = NO_HOOK};
	task->call = NO_CALL;
	task->returning = false;
}

void accounts_init(unsigned int modules, unsigned int hooks, unsigned int calls)
{
	all.modules = modules;
	all.hooks = hooks;
	all.calls = calls;
	all.now = &all.first;
	all.first.account = ACCOUNT_THREADS;
	reset_task(&all.first);
}

void accounts_settle(void)
{
	struct sums *sums = &all.of[account_now()];
	uint64_t kernel = 0, *call = call_now();

	for (unsigned int i = 0; i <= all.modules; i++) {
		uint64_t now = counter_now(i), delta = now - all.last[i];

		all.last[i] = now;
		if (!i) {
			sums->user += delta;
			continue;
		}
		sums->kernel[i - 1] += delta;
		if (call)
			call[i - 1] += delta;
		kernel += delta;
	}
	if (top()->hook != NO_HOOK)
		sums->hook[top()->hook].insns += kernel;
	if (all.now->returning) {
		all.now->returning = false;
		all.now->call = NO_CALL;
	}
}

void accounts_mark(enum account account)
{
	accounts_settle();
	if (account > ACCOUNT_NONE && account < ACCOUNTS)
		all.now->account = account;
}

/* The entry of the task at this place; a new one if there is none. */
static struct task *find(uint64_t at, bool *is_new)
{
	unsigned int place = (unsigned int)(at >> 6) * 2654435761u % MAX_TASKS;

	for (unsigned int i = 0; i < MAX_TASKS; i++) {
		struct task *task = &all.task[(place + i) % MAX_TASKS];

		*is_new = !task->at;
		if (task->at && task->at != at)
			continue;
		task->at = at;
		return task;
	}
	*is_new = true;
	all.lost++;
	return &all.first;
}

/*
 * Who made the task whose task_struct begins here; none if it was not made since it ran last. Its
 * state, near the beginning, is always touched.
 */
static enum account maker(uint64_t begin)
{
	enum account account = ACCOUNT_NONE;
	uint64_t nearest = STATE_BYTES, making = 0;

	for (unsigned int i = 0; all.unborn && i < MAX_TOUCHED; i++) {
		uint64_t distance = all.touched[i].address - begin;

		if (!all.touched[i].making || distance >= nearest)
			continue;
		nearest = distance;
		account = all.touched[i].account;
		making = all.touched[i].making;
	}
	for (unsigned int i = 0; making && i < MAX_TOUCHED; i++) {
		if (all.touched[i].making == making)
			all.touched[i].making = 0;
	}
	all.unborn -= making != 0;
	return account;
}

void accounts_leave(uint64_t at)
{
	bool is_new;
	struct task *task;

	if (all.now != &all.first || all.first.at)
		return;
	accounts_settle();
	task = find(at, &is_new);
	*task = all.first;
	task->at = at;
	all.now = task;
	all.first.at = 1; /* known from now on */
}

void accounts_enter(uint64_t at, uint64_t sp_offset)
{
	bool is_new;
	struct task *task;
	enum account made_by;

	accounts_settle();
	task = find(at, &is_new);
	made_by = maker(at - sp_offset);
	if (is_new || made_by != ACCOUNT_NONE) {
		task->account = made_by == ACCOUNT_NONE ? ACCOUNT_THREADS : made_by;
		reset_task(task);
	}
	all.now = task;
	all.of[account_now()].switches++;
}

void accounts_make(void)
{
	all.making++;
	all.unborn++;
}

void accounts_touch(uint64_t address)
{
	all.touched[all.next_touched].address = address;
	all.touched[all.next_touched].account = all.now->account;
	all.touched[all.next_touched].making = all.making;
	all.next_touched = (all.next_touched + 1) % MAX_TOUCHED;
}

void accounts_push(enum frame_kind kind)
{
	struct frame *below = top(), *frame;

	/* The one function that serves softirqs may have called the other. */
	if (kind == FRAME_SOFTIRQ && below->kind == kind)
		return;
	accounts_settle();
	if (all.now->top + 1 == MAX_FRAMES) {
		all.lost++;
		return;
	}
	all.now->top++;
	frame = top();
	*frame = *below;
	frame->kind = kind;
	if (kind == FRAME_FAULT)
		return;
	/* Softirqs that a tick raised are served before it returns. */
	if (kind == FRAME_TICK || (kind == FRAME_SOFTIRQ && below->kind == FRAME_TICK))
		frame->account = ACCOUNT_CLOCK;
	else
		frame->account = ACCOUNT_INTERRUPTS;
	frame->hook = NO_HOOK;
}

void accounts_serve(enum account account)
{
	if (top()->kind != FRAME_SOFTIRQ)
		return;
	accounts_settle();
	top()->account = account;
}

void accounts_device(void)
{
	if (top()->kind != FRAME_TICK)
		return;
	accounts_settle();
	top()->kind = FRAME_INTERRUPT;
	top()->account = ACCOUNT_INTERRUPTS;
}

static unsigned int place_of(uint64_t address)
{
	return (unsigned int)(address >> 3) * 2654435761u >> 16;
}

void accounts_defer(uint64_t address, bool delayed)
{
	enum account account = account_now();

	if (account == ACCOUNT_CLOCK && all.put_off[place_of(address)].address == address)
		return; /* its time has come */
	if (account == ACCOUNT_CLIENT || account == ACCOUNT_DRIVER)
		account = ACCOUNT_CLEANUP;
	else if (delayed && account == ACCOUNT_THREADS)
		account = ACCOUNT_CLOCK; /* threads do so again and again */
	all.put_off[place_of(address)].address = address;
	all.put_off[place_of(address)].account = account;
}

void accounts_deferred(uint64_t address)
{
	if (all.put_off[place_of(address)].address != address)
		return;
	accounts_settle();
	all.put_off[place_of(address)].address = 0;
	top()->account = all.put_off[place_of(address)].account;
}

void accounts_deferred_end(void)
{
	accounts_settle();
	top()->account = top()->kind == FRAME_TASK ? ACCOUNT_NONE : ACCOUNT_CLOCK;
}

void accounts_pop(bool softirq)
{
	accounts_settle();
	if (all.now->top && (top()->kind == FRAME_SOFTIRQ) == softirq)
		all.now->top--;
	else if (!all.now->top && !softirq)
		all.now->returning = true;
}

void accounts_avc(bool miss)
{
	struct sums *sums = &all.of[account_now()];

	*(miss ? &sums->avc_misses : &sums->avc_lookups) += 1;
}

void accounts_hook_slot(uint64_t slot)
{
	all.slot = slot;
}

void accounts_hook_enter(unsigned int hook)
{
	struct frame *frame = top();

	accounts_settle();
	all.of[account_now()].hook[hook].calls++;
	if (frame->hook == NO_HOOK) {
		frame->hook = (int)hook;
		frame->slot = all.slot;
	}
	all.slot = 0;
}

static void leave_hook(void)
{
	accounts_settle();
	top()->hook = NO_HOOK;
}

void accounts_hook_return(uint64_t slot, int hook)
{
	const struct frame *frame = top();

	if (frame->hook != NO_HOOK && (frame->slot ? frame->slot == slot : frame->hook == hook))
		leave_hook();
}

void accounts_hook_push(uint64_t slot)
{
	struct frame *frame = top();

	if (frame->hook != NO_HOOK && !frame->slot)
		frame->slot = slot + 8;
}

void accounts_hook_pop(uint64_t slot)
{
	all.popped = slot;
}

void accounts_hook_jump(int hook)
{
	const struct frame *frame = top();

	if (frame->hook != NO_HOOK && (frame->hook == hook || frame->slot == all.popped + 8))
		leave_hook();
}
