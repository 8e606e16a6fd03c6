/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Periods of the scheduler's load averages.
 *
 * Whoever is put on or taken from the processor has its averages brought up to date. A period of
 * 2^20 ns that ended since the last time adds 55 to 70 instructions for each average: in which
 * readings one ends depends on when they begin.
 */
#ifndef LSMETER_SAMPLER_PERIODS_H
#define LSMETER_SAMPLER_PERIODS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * By the kernel's own clock, which the counter may be apart from by 50 in a million: periods end
 * between `from` and `from` + `width`, and at multiples of a period from there; a tick ended.
 */
struct periods {
	uint64_t from, width, tick;
};

/*
 * Find where periods end, by changing this process's policy to and fro: a change during which one
 * ends takes longer. False if that does not tell, or is denied.
 */
bool periods_find(struct periods *periods);

/*
 * Sleep until a period has just ended, `least_ns` from now or later, at a moment from which the
 * next timer tick is `room_ns` away, and the last one is `since_ns` ago. periods_find() must have
 * found them. With `ahead_ns`, so long before a moment that is a whole microsecond as well.
 */
void periods_await(const struct periods *periods, uint64_t least_ns, uint64_t since_ns,
		   uint64_t room_ns, uint64_t ahead_ns);

#endif
