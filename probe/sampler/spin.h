/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Doing nothing in user space, and seeing by the counter what the machine does meanwhile.
 *
 * A spin is a chain of pieces of always the same number of instructions. Where the counter moved
 * by more, something else ran: a timer tick with what it sets off (softirqs, RCU callbacks), or
 * another task. The surplus is what that took.
 */
#ifndef LSMETER_SAMPLER_SPIN_H
#define LSMETER_SAMPLER_SPIN_H

#include <stdbool.h>
#include <stdint.h>

/* A tick's length in nanoseconds: the coarse clock moves once a tick. */
long tick_ns(void);

/*
 * How far before a tick a reading begins, which takes as long as the one before and a bit more, and
 * how long after the last one. Of long ones, who begins soon after a tick may end before the next.
 */
uint64_t tick_room(uint64_t last_ns);
uint64_t tick_since(uint64_t room);

/*
 * Sleep until the next timer tick is near, or a later one, and spin over it: what it took, together
 * with all that it left to be run at once. An emulator need not execute what is slept. Where
 * sleepers wake up at ticks only, all is spun. False: the tick had come already.
 */
bool spin_over(unsigned long icount_shift, unsigned int skip, uint64_t *taken);

/* Spin to just after the next tick. */
void spin_tick(void);

/*
 * Where `now` lies between two ticks, in units of the counter from the end of the one before, or
 * from an eighth of a period after it began; ticks are expected a period after the last
 * interruption that a spin of this process saw.
 */
uint64_t spin_phase(uint64_t now);

/* How many ticks there have been since that interruption. */
uint64_t spin_ticks_since(uint64_t now);

/* How many ticks have come since the last one that was spun over. */
unsigned int spin_ticks_over(void);

#endif
