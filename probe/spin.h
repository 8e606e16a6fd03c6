/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Doing nothing in user space, and seeing by the counter what the machine does meanwhile.
 *
 * A spin is a chain of pieces of always the same number of instructions. Where the counter moved
 * by more, something else ran: a timer tick with what it sets off (softirqs, RCU callbacks), or
 * another task. The surplus is what that took.
 */
#ifndef LSMETER_SPIN_H
#define LSMETER_SPIN_H

#include <stdbool.h>
#include <stdint.h>

/* Units of the counter, but for the numbers of interruptions. */
struct spin {
	uint64_t elapsed;
	uint64_t taken; /* by what was not the spinning */
	unsigned int interruptions;
	bool quiet; /* it ended because nothing but plain ticks came any more */
};

/* A tick's length in nanoseconds: the coarse clock moves once a tick. */
long tick_ns(void);

/*
 * How far before a tick a reading begins, which takes as long as the one before and a bit more, and
 * how long after the last one. Of long ones, who begins soon after a tick may end before the next.
 */
uint64_t tick_room(uint64_t last_ns);
uint64_t tick_since(uint64_t room);

/*
 * Learn what ticks take when there is nothing to do: spin over `ticks` of them, from just after
 * one to just after another.
 */
void spin_idle(unsigned int ticks, struct spin *spin);

/*
 * Spin until only plain ticks have come for a while, that is until what earlier calls left to be
 * done has been done. Ends just after a tick. spin_idle() must have run before, in this process
 * or one that it was forked from.
 */
void spin_settle(struct spin *spin);

/* Spin to just after the next tick. */
void spin_tick(void);

/*
 * Where `now` lies between two ticks, in units of the counter from the end of the one before; ticks
 * are expected a period after the last interruption that a spin of this process saw.
 */
uint64_t spin_phase(uint64_t now);

/* How many ticks there have been since that interruption. */
uint64_t spin_ticks_since(uint64_t now);

/* The share of its time that an idle machine takes, as spin_idle() saw it. */
double spin_idle_share(void);

#endif
