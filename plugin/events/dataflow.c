// SPDX-License-Identifier: GPL-2.0-or-later
#include "dataflow.h"

#include <string.h>

void dataflow_clear(struct dataflow *flow)
{
	memset(flow, 0, sizeof(*flow));
}

static uint64_t later(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

uint64_t dataflow_run(struct dataflow *flow, const struct operands *operands)
{
	uint64_t time = later(flow->begun, flow->ended[flow->at]), before = flow->all;

	flow->begun = time + 1;
	for (unsigned int reads = operands->reads; reads; reads &= reads - 1)
		time = later(time, flow->ready[__builtin_ctz(reads)]);
	time += (uint64_t)QUARTERS * operands->cycles;
	for (unsigned int writes = operands->writes; writes; writes &= writes - 1)
		flow->ready[__builtin_ctz(writes)] = time;
	flow->all = later(flow->all, time);
	flow->ended[flow->at] = flow->all;
	flow->at = (flow->at + 1) % WINDOW;
	return flow->all - before;
}
