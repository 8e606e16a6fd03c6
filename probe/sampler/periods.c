// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/periods.h"

#include "arch/sys.h"
#include "sampler/region.h"
#include "sampler/spin.h"

#include <errno.h>
#include <linux/sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define PERIOD_NS (UINT64_C(1) << 20)

/* A change of policy and back takes some 80 us, and a wait before it up to 75: so many are 25
 * periods. */
#define CHANGES 220
#define STEP_NS 2500
#define STEPS	16
/* What a period's end adds at least to a change, and what a timer tick exceeds. */
#define LEAST_NS (40 << 4)
#define MOST_NS	 (600 << 4)
/* Where in a period one ends is found as one of so many places. */
#define PLACES	  128
#define PLACE_NS  (PERIOD_NS / PLACES)
#define ENOUGH_NS 100000

/* A reading begins so long after a period's end, and its process wakes up so long before. */
#define AFTER_NS 10000
#define EARLY_NS 300000

/* Among so many periods' ends there is one at any place between two ticks. */
#define MOST_PERIODS 256
#define WITHIN_NS    32

struct change {
	uint64_t begin, took;
};

static void wait_until(uint64_t at)
{
	while (now_ns() < at)
		;
}

static bool change_policy(struct change *change)
{
	static const int priority;
	long policy = sys4(SYS_sched_getscheduler, 0, 0, 0, 0);
	long other = policy == SCHED_BATCH ? SCHED_NORMAL : SCHED_BATCH;

	if (policy != SCHED_BATCH && policy != SCHED_NORMAL)
		return false;
	change->begin = now_ns();
	if (sys4(SYS_sched_setscheduler, 0, other, (long)&priority, 0) ||
	    sys4(SYS_sched_setscheduler, 0, policy, (long)&priority, 0))
		return false;
	change->took = now_ns() - change->begin;
	return true;
}

static int ascending(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return (first > second) - (first < second);
}

static uint64_t median(const struct change *change)
{
	uint64_t took[CHANGES];

	for (int i = 0; i < CHANGES; i++)
		took[i] = change[i].took;
	qsort(took, CHANGES, sizeof(took[0]), ascending);
	return took[CHANGES / 2];
}

/* Add to the score of each place in a period that lies between the two moments. */
static void score(int *place, uint64_t begin, uint64_t end, int by)
{
	for (uint64_t at = begin / PLACE_NS; at <= end / PLACE_NS; at++)
		place[at % PLACES] += by;
}

/* The places that most changes agree on: those with the highest score. */
static void find_best(const int *place, struct periods *periods)
{
	int best = 0, last;

	for (int i = 1; i < PLACES; i++) {
		if (place[i] > place[best])
			best = i;
	}
	for (last = best; last + 1 < PLACES && place[last + 1] == place[best];)
		last++;
	periods->from = (uint64_t)best * PLACE_NS;
	periods->width = (uint64_t)(last + 1 - best) * PLACE_NS;
}

bool periods_find(struct periods *periods)
{
	struct change change[CHANGES];
	int place[PLACES] = {0};
	uint64_t usual;

	for (int i = 0; i < CHANGES; i++) {
		/* A period is not to be as long as a number of changes. */
		wait_until(now_ns() + (uint64_t)(i * 7 % STEPS) * STEP_NS);
		if (!change_policy(&change[i]))
			return false;
	}
	usual = median(change);
	for (int i = 1; i < CHANGES; i++) {
		/* A change brings the averages up to date last in its last quarter. */
		uint64_t begin = change[i - 1].begin + change[i - 1].took / 4 * 3;
		uint64_t end = change[i].begin + change[i].took / 8 * 7;

		if (change[i].took < usual + LEAST_NS)
			score(place, change[i].begin, end - change[i].took / 8, -1);
		else if (change[i].took < usual + MOST_NS)
			score(place, begin, end, 1);
	}
	find_best(place, periods);
	if (periods->width > ENOUGH_NS)
		return false;
	periods->tick = now_ns() - spin_phase(counter_now());
	prctl(PR_SET_TIMERSLACK, 1);
	return true;
}

/* The first such moment; with whole microseconds, one that is `WITHIN_NS` past one at most. */
static uint64_t choose(const struct periods *periods, uint64_t earliest, uint64_t since_ns,
		       uint64_t room_ns, bool whole)
{
	uint64_t between = (uint64_t)tick_ns(), at = periods->from + periods->width + AFTER_NS;

	at += ((earliest - at) / PERIOD_NS + 1) * PERIOD_NS;
	for (int i = 0; i < MOST_PERIODS; i++, at += PERIOD_NS) {
		uint64_t phase = (at - periods->tick) % between;

		if (phase >= since_ns && phase + room_ns <= between &&
		    (!whole || at % 1000 < WITHIN_NS))
			break;
	}
	return at;
}

void periods_await(const struct periods *periods, uint64_t least_ns, uint64_t since_ns,
		   uint64_t room_ns, uint64_t ahead_ns)
{
	uint64_t at = choose(periods, now_ns() + least_ns, since_ns, room_ns, ahead_ns),
		 ns = at - EARLY_NS;
	struct timespec until = {.tv_sec = (time_t)(ns / 1000000000),
				 .tv_nsec = (long)(ns % 1000000000)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
	/* What the scheduler puts off until the next switch is to be done now. */
	sys4(SYS_sched_yield, 0, 0, 0, 0);
	wait_until(at - ahead_ns);
}
