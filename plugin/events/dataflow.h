/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A processor that waits for operands and for nothing else: it begins four instructions a cycle, of
 * at most 512 that have not ended in order, each as soon as what it reads is there. Times are in
 * quarters of a cycle.
 */
#ifndef LSMETER_EVENTS_DATAFLOW_H
#define LSMETER_EVENTS_DATAFLOW_H

#include "operands.h"

#include <stdint.h>

#define WINDOW	 512
#define QUARTERS 4

struct dataflow {
	uint64_t ready[REGISTERS]; /* when each register is there */
	uint64_t ended[WINDOW];	   /* when the latest instructions had ended, and all before them */
	uint64_t begun;		   /* when the next one can begin */
	uint64_t all;		   /* when all had ended */
	uint32_t at;
};

/* Nothing has run. */
void dataflow_clear(struct dataflow *flow);

/* Run an instruction; returns by how much later all have ended. */
uint64_t dataflow_run(struct dataflow *flow, const struct operands *operands);

#endif
