// SPDX-License-Identifier: GPL-2.0-or-later
#include "spin.h"

#include "region.h"

#include <stdlib.h>
#include <time.h>

#define MAX_IDLE 512

/*
 * So many plain ticks in a row mean that nothing is left. A grace period of RCU takes three or four
 * ticks and ends within a tick; callbacks wait for one, or for one more.
 */
#define QUIET_TICKS 8
/* Ticks after which waiting is given up. */
#define MAX_TICKS 2000

/* What a plain tick takes: the median of many. One of a quarter more is still no other. */
static uint64_t plain;
static double idle_share;
/* The end of the last interruption, by the counter. */
static uint64_t last_tick;

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
	uint64_t now, moved;

	do {
		arch_piece();
		now = counter_now();
		moved = now - *at;
		*at = now;
		if (moved < least)
			least = moved;
	} while (moved < least + least / 2);
	last_tick = now;
	return moved - least;
}

static int ascending(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return (first > second) - (first < second);
}

void spin_idle(unsigned int ticks, struct spin *spin)
{
	uint64_t taken[MAX_IDLE], at = counter_now(), begin;

	if (ticks > MAX_IDLE)
		ticks = MAX_IDLE;
	*spin = (struct spin){.interruptions = ticks, .quiet = true};
	for (int i = 0; i < QUIET_TICKS; i++)
		until_interrupted(&at);
	begin = at;
	for (unsigned int i = 0; i < ticks; i++) {
		taken[i] = until_interrupted(&at);
		spin->taken += taken[i];
	}
	spin->elapsed = at - begin;
	/* Once a second a tick does more; that is no sign of anything left. */
	qsort(taken, ticks, sizeof(taken[0]), ascending);
	plain = taken[ticks / 2];
	idle_share = (double)spin->taken / (double)spin->elapsed;
}

void spin_settle(struct spin *spin)
{
	uint64_t begin = counter_now(), at = begin;
	unsigned int quiet = 0;

	*spin = (struct spin){0};
	while (quiet < QUIET_TICKS && spin->interruptions < MAX_TICKS) {
		uint64_t taken = until_interrupted(&at);

		spin->taken += taken;
		spin->interruptions++;
		quiet = taken <= plain + plain / 4 ? quiet + 1 : 0;
	}
	spin->elapsed = at - begin;
	spin->quiet = quiet == QUIET_TICKS;
}

void spin_tick(void)
{
	uint64_t at = counter_now();

	until_interrupted(&at);
}

double spin_idle_share(void)
{
	return idle_share;
}

uint64_t spin_phase(uint64_t now)
{
	return (now - last_tick) % (uint64_t)tick_ns();
}

uint64_t spin_ticks_since(uint64_t now)
{
	return (now - last_tick) / (uint64_t)tick_ns();
}
