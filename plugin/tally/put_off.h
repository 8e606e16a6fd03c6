/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work that is put off, and done later on the account of who did so. */
#ifndef LSMETER_PUT_OFF_H
#define LSMETER_PUT_OFF_H

#include "arch/arch.h"
#include "qemu_api.h"
#include "symbols.h"

/*
 * Have an instruction of a function tell accounts.h what it puts off, or begins to do.
 *
 * Work is put off by a callback for the end of a grace period, whose address call_rcu() stores in a
 * struct rcu_head, and rcu_do_batch() clears before it calls it; or in the list of a workqueue,
 * which insert_work() puts a struct work_struct in, and process_one_work() takes it from. Delayed
 * work is armed before: __queue_delayed_work() stores the queue in its struct delayed_work.
 */
void put_off_watch(struct qemu_plugin_insn *insn, const uint8_t *bytes, enum step step,
		   const struct symbol *symbol);

#endif
