/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Making the calls of a benchmark's cycle: the measured ones between two readings of the counter,
 * the others plainly, and whole cycles back to back.
 */
#ifndef LSMETER_SAMPLER_REGION_H
#define LSMETER_SAMPLER_REGION_H

#include "arch/arch.h"
#include "ops/bench.h"

/* The counter now; under -icount its unit is instructions shifted left by icount_shift. */
uint64_t counter_now(void);

/* Tell a QEMU plugin by markers that the region with this number follows. */
void region_announce(unsigned int number);

/* Begin and end a region that is not measured here. */
void region_begin(void);
void region_end(void);

/* Make the measured calls of the cycle, or let run() make them; what the counter moved by. */
uint64_t region_measure(struct bench *bench);

/* Put the descriptor of an earlier call into this one, where it wants one. */
void call_bind(struct bench *bench, unsigned int place);

/* Make one call; the instructions in user space are always the same. */
void call_make(struct call *call);

/* In run(): make a call with all its arguments, in the function that asks for it. */
static inline __attribute__((always_inline)) void call_all(struct call *call)
{
	arch_call_all(call);
}

/* As many as call_make, but for the system call itself, which is not made. */
void call_skip(struct call *call);

/* Whether the call did what it had to. */
bool call_right(const struct call *call);

#endif
