/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has QEMU tell of blocks that run and of data that is accessed. */
#ifndef LSMETER_EVENTS_WATCH_H
#define LSMETER_EVENTS_WATCH_H

#include "events.h"

#include <stddef.h>

/* What counts, and which counter has all instructions. */
void watch_events(struct events *events, unsigned int counter);

/* Before any other callback for what the instruction accesses. */
void watch_access(struct qemu_plugin_insn *insn, const struct event_block *block, size_t index);

/* On the first instruction of a block, behind callbacks that charge what came before it. */
void watch_block(struct qemu_plugin_insn *insn, const struct event_block *block);

#endif
