// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack.h"

/* A slot below all that the running task has. */
static uint64_t next_slot(struct shadow *shadow)
{
	const struct task *task = running(shadow);
	uint32_t depth = task->depth;

	while (depth && !task->frames[depth - 1].slot)
		depth--;
	return depth ? (task->frames[depth - 1].slot & ~(uint64_t)7) - 16 : UINT64_MAX - 15;
}

void shadow_link(struct shadow *shadow, const struct symbol *function, uint64_t back, uint64_t now)
{
	uint32_t depth = running(shadow)->depth;

	if (depth)
		top(running(shadow))->returning = false;
	shadow_call(shadow, function, next_slot(shadow), now);
	if (running(shadow)->depth > depth)
		top(running(shadow))->back = back;
}

void shadow_unlink(struct shadow *shadow, const struct symbol *function, uint64_t now)
{
	struct frame *frame;

	shadow_charge_in(shadow, function, now);
	if (shadow->in_user)
		return;
	if (shadow->switching) {
		shadow->damaged |= !shadow->next;
		shadow_switch(shadow, shadow->next);
	}
	frame = top(running(shadow));
	if (frame)
		frame->returning = true;
}

void shadow_back(struct shadow *shadow, uint64_t to)
{
	struct task *task = running(shadow);
	uint32_t depth = task->depth;

	if (shadow->in_user || !depth || !top(task)->returning)
		return;
	top(task)->returning = false;
	/* Not beyond what was entered by no call. */
	while (depth && task->frames[depth - 1].back) {
		uint64_t slot = task->frames[depth - 1].slot;

		if (task->frames[depth - 1].back == to) {
			shadow_unwind(shadow, slot);
			return;
		}
		depth--;
	}
	if (depth && task->frames[depth - 1].guessed)
		task->depth = depth - 1;
}

void shadow_context(struct shadow *shadow, uint64_t at, bool store)
{
	if (!shadow->switching || shadow->next)
		return;
	if (!store)
		shadow->next = at;
	else if (!shadow->stored)
		running(shadow)->home = at;
	shadow->stored = true;
}
