// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/moment.h"

#include "arch/sys.h"
#include "sampler/periods.h"
#include "sampler/region.h"
#include "sampler/spin.h"

#include <errno.h>
#include <time.h>

/*
 * Longer than 32 periods, after which averages are brought up to date in another way, and than the
 * 50 ms after which the server of the fair class (6.12 on) starts its timer again, 501
 * instructions.
 */
#define SETTLE_NS 56000000

/* A microsecond is waited for from a few before it on. */
#define MICROSECOND_NS 1000
#define AHEAD_NS       4000
#define ROUNDS	       1000

/* Elsewhere ticks are taken to stand on multiples of their period. */
static uint64_t phase_ns(const struct moment *moment)
{
	return moment->by_counter ? spin_phase(counter_now()) : now_ns() % (uint64_t)tick_ns();
}

uint64_t moment_ticks(const struct moment *moment)
{
	return moment->by_counter ? spin_ticks_since(counter_now())
				  : now_ns() / (uint64_t)tick_ns();
}

/*
 * Wait, without sleeping, until no timer tick is near: what a tick sets off is to be over, and
 * the reading is to end before the next one.
 */
static void dodge_tick(const struct moment *moment, uint64_t last_ns)
{
	uint64_t tick = (uint64_t)tick_ns(), room = tick_room(last_ns), phase;

	do {
		phase = phase_ns(moment);
	} while (phase < tick_since(room) || phase > tick - room);
}

/* Wait until neither a tick nor the end of a period is near, and what was left is done. */
static void settle(const struct moment *moment, uint64_t last_ns)
{
	uint64_t room = tick_room(last_ns);

	periods_await(&moment->periods, SETTLE_NS, tick_since(room), room,
		      moment->by_microsecond ? AHEAD_NS : 0);
}

/*
 * Sleep to 1.5 ms past a multiple of 20 ms, so that what earlier readings left to be done in
 * the background is done.
 */
static void sleep_long(void)
{
	const long period_ns = 20000000, offset_ns = 1500000;
	struct timespec at;
	long ns;

	clock_gettime(CLOCK_MONOTONIC, &at);
	ns = (at.tv_nsec / period_ns + 2) * period_ns + offset_ns;
	at.tv_sec += ns / 1000000000;
	at.tv_nsec = ns % 1000000000;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

/* Always as many instructions for a round. */
static __attribute__((noinline)) void run_rounds(uint64_t rounds)
{
	while (rounds--)
		asm volatile("" : "+r"(rounds));
}

static uint64_t measure_rounds(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 4; i++) {
		uint64_t before = counter_now(), took;

		run_rounds(ROUNDS);
		took = counter_now() - before;
		if (took < least)
			least = took;
	}
	return least;
}

/* Wait for its beginning, to within a few instructions: looking at the clock takes too many. */
static void await_microsecond(const struct moment *moment)
{
	uint64_t now = now_ns(), at = (now + AHEAD_NS) / MICROSECOND_NS * MICROSECOND_NS;

	run_rounds((at - now) * ROUNDS / moment->rounds_took);
}

void moment_open(struct moment *moment)
{
	if (moment->by_microsecond)
		moment->rounds_took = measure_rounds();
	if (moment->by_counter) {
		/* The first may end at once: running code for the first time faults its pages in.
		 */
		spin_tick();
		spin_tick();
	}
}

void moment_await(struct moment *moment, uint64_t last_ns)
{
	if (moment->by_period && !moment->begun)
		moment->by_period = periods_find(&moment->periods);
	moment->begun = true;
	if (moment->by_period) {
		settle(moment, last_ns);
	} else {
		if (moment->rests)
			sleep_long();
		dodge_tick(moment, last_ns);
	}
	if (moment->by_microsecond)
		await_microsecond(moment);
}
