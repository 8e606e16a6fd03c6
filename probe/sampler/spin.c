// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/spin.h"

#include "arch/sys.h"
#include "sampler/region.h"

#include <sys/syscall.h>
#include <time.h>

/*
 * How long before a tick a sleeper wakes up: the way back takes some 8,000 instructions, on other
 * kernels more; where that was too late, it is longer from then on.
 */
#define AHEAD_INSNS 11000

/* When the last interruption began, and when one like it is over, by the counter. */
static uint64_t tick_began, tick_over;

long tick_ns(void)
{
	static long ns;
	struct timespec resolution;

	if (!ns) {
		clock_getres(CLOCK_MONOTONIC_COARSE, &resolution);
		ns = resolution.tv_nsec ? resolution.tv_nsec : 1;
	}
	return ns;
}

uint64_t tick_room(uint64_t last_ns)
{
	uint64_t tick = (uint64_t)tick_ns();

	if (last_ns <= tick / 5)
		return tick / 4;
	if (last_ns < tick / 2)
		return last_ns / 4 * 5;
	/* Of those that take longer, who begins soon after a tick may end before the next. */
	return last_ns < tick / 64 * 60 ? last_ns / 64 * 65 : tick / 2;
}

uint64_t tick_since(uint64_t room)
{
	uint64_t tick = (uint64_t)tick_ns();

	return room <= tick / 16 * 13 ? tick / 8 : tick / 64;
}

/*
 * Spin until something interrupts; what that took. The counter's last value goes on in `at`. No
 * interrupt is as short as half a piece, and all that is done between two calls of this is.
 */
static __attribute__((noinline)) uint64_t until_interrupted(uint64_t *at)
{
	static uint64_t least = UINT64_MAX;
	uint64_t now, moved, usual = (uint64_t)tick_ns() / 8;

	do {
		arch_piece();
		now = counter_now();
		moved = now - *at;
		*at = now;
		if (moved < least)
			least = moved;
	} while (moved < least + least / 2);
	tick_began = now - moved;
	/* One that takes long had much left to do. Whoever took the next ones to be as long would
	 * begin readings that they fall into.
	 */
	tick_over = tick_began + (moved < usual ? moved : usual);
	return moved - least;
}

/* Give way to whoever is to run; what that took beyond the call itself. */
static uint64_t give_way(void)
{
	static uint64_t least = UINT64_MAX;
	uint64_t before = counter_now(), took;

	sys4(SYS_sched_yield, 0, 0, 0, 0);
	took = counter_now() - before;
	if (took < least)
		least = took;
	return took - least;
}

/* Sleep until a tick is near, the next one or, after `skip` others, a later one; false: too late.
 */
static bool sleep_to_tick(uint64_t *ahead, unsigned int skip)
{
	uint64_t tick = (uint64_t)tick_ns(), now = counter_now();
	uint64_t next = now + tick * (1 + skip) - (now - tick_began) % tick;

	if (next - now > 2 * *ahead) {
		struct timespec left = {0, (long)(next - now - *ahead)};

		nanosleep(&left, NULL);
	}
	if (counter_now() < next)
		return true;
	if (*ahead < tick / 4)
		*ahead *= 2;
	return false;
}

/* Whether who sleeps wakes up at ticks only: a kernel without high-resolution timers. */
static bool wakes_at_ticks(void)
{
	struct timespec resolution;

	clock_getres(CLOCK_MONOTONIC, &resolution);
	return resolution.tv_sec || resolution.tv_nsec >= tick_ns();
}

bool spin_over(unsigned long icount_shift, unsigned int skip, uint64_t *taken)
{
	static uint64_t ahead;
	uint64_t at;
	bool in_time = true;

	if (!ahead)
		ahead = wakes_at_ticks() ? UINT64_MAX : (uint64_t)AHEAD_INSNS << icount_shift;
	if (ahead == UINT64_MAX) {
		while (skip--)
			spin_tick();
	} else {
		in_time = sleep_to_tick(&ahead, skip);
	}
	at = counter_now();
	*taken = until_interrupted(&at);
	*taken += give_way();
	return in_time;
}

void spin_tick(void)
{
	uint64_t at = counter_now();

	until_interrupted(&at);
}

uint64_t spin_phase(uint64_t now)
{
	return (now - tick_over) % (uint64_t)tick_ns();
}

uint64_t spin_ticks_since(uint64_t now)
{
	return (now - tick_began) / (uint64_t)tick_ns();
}

unsigned int spin_ticks_over(void)
{
	return (unsigned int)((counter_now() - tick_began) / (uint64_t)tick_ns());
}
