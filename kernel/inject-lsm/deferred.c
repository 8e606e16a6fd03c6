// SPDX-License-Identifier: GPL-2.0-only
/*
 * Injected costs - what runs after the hook has returned
 *
 * What is put off sits in slots that exist from the start: a slab to refill
 * would be a cost that nobody injected. A place that was not named in the
 * parameter puts nothing off.
 */

#include <linux/container_of.h>
#include <linux/errno.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/workqueue.h>

#include "inject.h"

/* What may wait at the same time; a power of 2. */
#define INJECT_SLOTS 16384

/**
 * struct inject_slot - Something put off
 * @head: for RCU and for task work
 * @work: for the work queue, after a tick: at once, it would often run before
 *        the system call that queued it is over
 * @busy: whether it waits
 */
struct inject_slot {
	union {
		struct callback_head head;
		struct delayed_work work;
	};
	atomic_t busy;
};

/**
 * struct inject_ring - Slots that are taken in turn
 * @slots: INJECT_SLOTS of them, or NULL if nothing is to be put off
 * @next: how many were taken so far
 */
struct inject_ring {
	struct inject_slot *slots;
	atomic_t next;
};

static struct inject_ring inject_rcu_ring, inject_task_ring, inject_work_ring;

/* Costs that should have been put off and were not; 0 if all is well. */
atomic64_t inject_lost;

static int __init inject_prepare_ring(struct inject_ring *ring,
				      enum inject_at at)
{
	if (!inject_places[at].cost.named)
		return 0;
	ring->slots = kcalloc(INJECT_SLOTS, sizeof(*ring->slots), GFP_KERNEL);
	return ring->slots ? 0 : -ENOMEM;
}

/**
 * inject_prepare_deferred - Make the slots of those places that need them
 *
 * Return: 0 or -ENOMEM.
 */
int __init inject_prepare_deferred(void)
{
	return inject_prepare_ring(&inject_rcu_ring, INJECT_RCU) ?:
	       inject_prepare_ring(&inject_task_ring, INJECT_TASK) ?:
	       inject_prepare_ring(&inject_work_ring, INJECT_WORK);
}

static struct inject_slot *inject_take(struct inject_ring *ring)
{
	struct inject_slot *slot;

	if (!ring->slots)
		return NULL;
	slot = &ring->slots[(unsigned int)atomic_fetch_inc(&ring->next) %
			    INJECT_SLOTS];
	if (!atomic_xchg(&slot->busy, 1))
		return slot;
	atomic64_inc(&inject_lost);
	return NULL;
}

static void inject_rcu_file_free(struct callback_head *head)
{
	inject_cost_of(INJECT_RCU);
	atomic_set(&container_of(head, struct inject_slot, head)->busy, 0);
}

/**
 * inject_call_rcu - Let an RCU callback cost more
 */
void inject_call_rcu(void)
{
	struct inject_slot *slot = inject_take(&inject_rcu_ring);

	if (slot)
		call_rcu(&slot->head, inject_rcu_file_free);
}

static void inject_task_work(struct callback_head *head)
{
	inject_cost_of(INJECT_TASK);
	atomic_set(&container_of(head, struct inject_slot, head)->busy, 0);
}

/**
 * inject_add_task_work - Let the way out of this system call cost more
 *
 * Kernel threads have no such way, and are left alone.
 */
void inject_add_task_work(void)
{
	struct inject_slot *slot;

	if (current->flags & PF_KTHREAD)
		return;
	slot = inject_take(&inject_task_ring);
	if (!slot)
		return;
	init_task_work(&slot->head, inject_task_work);
	if (task_work_add(current, &slot->head, TWA_RESUME)) {
		atomic_set(&slot->busy, 0);
		atomic64_inc(&inject_lost);
	}
}

static void inject_worker(struct work_struct *work)
{
	struct delayed_work *own = to_delayed_work(work);

	inject_cost_of(INJECT_WORK);
	atomic_set(&container_of(own, struct inject_slot, work)->busy, 0);
}

/**
 * inject_queue_work - Let a kernel thread do something that costs more
 */
void inject_queue_work(void)
{
	struct inject_slot *slot = inject_take(&inject_work_ring);

	if (!slot)
		return;
	INIT_DELAYED_WORK(&slot->work, inject_worker);
	schedule_delayed_work(&slot->work, 1);
}
