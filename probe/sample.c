// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample.h"

#include "count.h"
#include "far.h"
#include "periods.h"
#include "region.h"
#include "shift.h"
#include "spin.h"
#include "suited.h"
#include "sys.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Count a call that did not do what it had to; true if it did. */
static bool check(const struct bench *bench, unsigned int place, struct outcome *outcome)
{
	const struct call *call = &bench->call[place];

	if (call_right(call))
		return true;
	if (call->result == -ENOSYS && !bench->serial) {
		outcome->skipped = true;
		snprintf(outcome->detail, sizeof(outcome->detail),
			 "there is no system call %ld: %s", call->nr, strerror(ENOSYS));
		return false;
	}
	if (!outcome->failures++) {
		outcome->error = call->result < 0 ? (int)-call->result : 0;
		snprintf(outcome->detail, sizeof(outcome->detail),
			 "system call %ld returned %ld in reading %u", call->nr, call->result,
			 bench->serial);
	}
	return false;
}

/* The same of what has no call: a child, for one. */
static bool check_status(const struct bench *bench, struct outcome *outcome)
{
	if (!bench->status)
		return true;
	if (!outcome->failures++)
		snprintf(outcome->detail, sizeof(outcome->detail), "status %d in reading %u",
			 bench->status, bench->serial);
	return false;
}

/* Make the calls of the cycle from one place up to another; false when one went wrong. */
static bool make_calls(struct bench *bench, unsigned int from, unsigned int to,
		       struct outcome *outcome)
{
	for (unsigned int i = from; i < to; i++) {
		call_bind(bench, i);
		call_make(&bench->call[i]);
		if (!check(bench, i, outcome))
			return false;
	}
	return true;
}

static bool fault(struct outcome *outcome, const char *where, long error)
{
	if (!error)
		return false;
	outcome->failures++;
	if (!outcome->error) {
		outcome->error = (int)-error;
		snprintf(outcome->detail, sizeof(outcome->detail), "%s: %s", where,
			 strerror((int)-error));
	}
	return true;
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

/*
 * Ticks by the counter, which under emulation counts nanoseconds: their phase is what a spin saw.
 * Elsewhere they are taken to stand on multiples of their period.
 */
static bool by_counter;
/* Where processes take part: begin just after a period of the scheduler's averages. */
static bool by_period;

/* Readings that are not kept; an emulator is slow at making processes. */
#define SLOW_WARMUP 5
static unsigned long warm_up;

/* Readings with the same objects, where they are shifted. */
#define SHIFT_READINGS 6

/*
 * Longer than 32 periods, after which averages are brought up to date in another way, and than the
 * 50 ms after which the server of the fair class (6.12 on) starts its timer again, 501
 * instructions.
 */
#define SETTLE_NS 56000000

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t phase_ns(void)
{
	return by_counter ? spin_phase(counter_now()) : now_ns() % (uint64_t)tick_ns();
}

/* How many ticks there have been, from whenever. */
static uint64_t ticks_so_far(void)
{
	return by_counter ? spin_ticks_since(counter_now()) : now_ns() / (uint64_t)tick_ns();
}

/*
 * Wait, without sleeping, until no timer tick is near: what a tick sets off is to be over, and
 * the reading is to end before the next one.
 */
static void dodge_tick(uint64_t last_ns)
{
	uint64_t tick = (uint64_t)tick_ns(), room = tick_room(last_ns), phase;

	do {
		phase = phase_ns();
	} while (phase < tick_since(room) || phase > tick - room);
}

/* Wait until neither a tick nor the end of a period is near, and what was left is done. */
static void settle(uint64_t last_ns)
{
	uint64_t room = tick_room(last_ns);

	periods_await(SETTLE_NS, tick_since(room), room);
}

/* Put a new tree into a new directory, so that nothing of it was ever looked up. */
static long renew(struct bench *bench, const struct assistant *assistant)
{
	char name[16];
	long error = 0;

	if (bench->serial && bench->op->teardown)
		error = bench->op->teardown(bench);
	if (!error && bench->serial && chdir(".."))
		error = -errno;
	snprintf(name, sizeof(name), "t%06u", bench->serial);
	if (!error)
		error = sys_mkdir(name, 0755);
	if (!error && chdir(name))
		error = -errno;
	if (!error && bench->op->setup)
		error = bench->op->setup(bench);
	return error ? error : assistant->drop_caches();
}

/* Keep how often the reading just taken ran each hook. */
static void keep_calls(struct outcome *outcome)
{
	unsigned int size = hook_count_size();

	for (unsigned int i = 0; i < size; i++)
		outcome->calls[outcome->count * size + i] = (uint32_t)hook_count_calls(i);
}

/* Time a reading as it comes; after the warm-up, as many operations as the clock needs. */
static uint64_t take_time(struct bench *bench, const struct request *request, struct timing *timing)
{
	static uint64_t least;
	uint64_t took;

	if (!bench->serial)
		least = UINT64_MAX;
	if (bench->serial == request->warmup)
		timing->batch = bench->serial ? timing_batch(bench, least) : 1;
	took = timing_measure(bench, timing, bench->serial >= request->warmup);
	if (took < least)
		least = took;
	return took;
}

/* Wait for the right moment and measure; what the counter moved by. */
static uint64_t measure(struct bench *bench, const struct request *request, bool *ticked)
{
	/* Under emulation the time stamp counts nanoseconds; on hardware it counts faster. */
	static uint64_t last;
	uint64_t ticks;

	if (by_counter && bench->op->shifts && bench->serial % SHIFT_READINGS == 0)
		shift_next();
	if (by_period && !bench->serial)
		by_period = periods_find();
	if (by_period) {
		settle(last);
	} else {
		if (request->quiet || (by_counter && bench->op->settles))
			sleep_long();
		dodge_tick(last);
	}
	ticks = ticks_so_far();
	if (request->count)
		hook_count_begin(bench->op->processes);
	last = region_measure(bench);
	if (request->count)
		hook_count_end();
	*ticked = ticks_so_far() != ticks;
	return last;
}

/* Keep a reading. */
static void keep(struct outcome *outcome, const struct request *request, uint64_t took, bool ticked)
{
	if (request->count)
		keep_calls(outcome);
	if (ticked)
		outcome->ticked_at[outcome->ticked++] = (uint32_t)outcome->count;
	outcome->value[outcome->count++] = took >> request->icount_shift;
}

/* One reading; false ends the benchmark. */
static bool take(struct bench *bench, const struct request *request,
		 const struct assistant *assistant, struct outcome *outcome)
{
	unsigned int end;
	uint64_t took;
	bool ticked = false;

	if (request->cold && fault(outcome, "renewing the tree", renew(bench, assistant)))
		return false;
	bench->status = 0;
	if (fault(outcome, "arming", bench->op->arm(bench)))
		return false;
	end = bench->first + bench->calls;
	if (bench->op->before && fault(outcome, "before the cycle", bench->op->before(bench)))
		return false;
	if (!make_calls(bench, 0, bench->first, outcome))
		return false;
	if (request->n_before && fault(outcome, "preparing", assistant->prepare()))
		return false;
	for (unsigned int i = bench->first; i < end; i++)
		call_bind(bench, i);
	if (request->timed)
		took = take_time(bench, request, &outcome->timing);
	else
		took = measure(bench, request, &ticked);
	for (unsigned int i = bench->first; i < end; i++) {
		/* What went wrong is counted, and needs no undoing. */
		if (!check(bench, i, outcome))
			return true;
	}
	if (!check_status(bench, outcome))
		return true;
	if (!make_calls(bench, end, bench->length, outcome))
		return false;
	if (bench->serial >= warm_up)
		keep(outcome, request, took, ticked);
	return true;
}

/* How often another task took the CPU from this one. */
static unsigned long times_preempted(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) ? 0 : (unsigned long)usage.ru_nivcsw;
}

static bool skip(struct outcome *outcome, const char *why, const char *what, int error)
{
	outcome->skipped = true;
	snprintf(outcome->detail, sizeof(outcome->detail), "%s%s: %s", why, what, strerror(-error));
	return false;
}

/* Set up; false where that failed, or where there is nothing to measure. */
static bool set_up(struct bench *bench, const struct request *request, struct outcome *outcome)
{
	const struct op *op = bench->op;
	const char *needs = far_lacking() ? "second network namespace (veth)" : op->needs;
	int error = op->setup ? op->setup(bench) : 0;

	far_close();
	if (needs && is_lacking(error))
		return skip(outcome, "there is no ", needs, error);
	/* Denying is what these setups are for. */
	if ((request->n_confine || request->landlock.layers) &&
	    (error == -EACCES || error == -EPERM))
		return skip(outcome, "the setup denies it", "", error);
	/* A container may refuse even root; a guest does not. */
	if (!in_guest && (op->needs || op->privileged) && error == -EPERM)
		return skip(outcome, "this machine does not allow it", "", error);
	return !fault(outcome, "setting up", error);
}

void sample(struct bench *bench, const struct request *request, const struct assistant *assistant,
	    struct outcome *outcome)
{
	const struct op *op = bench->op;
	const char *reason = unsuited(bench, request);
	unsigned long preempted;

	if (reason) {
		outcome->skipped = true;
		snprintf(outcome->detail, sizeof(outcome->detail), "%s", reason);
		return;
	}
	by_counter = request->vary && !request->timed;
	if (by_counter && op->shifts &&
	    fault(outcome, "shifting objects", shift_begin(op->network)))
		return;
	if (!request->cold && !set_up(bench, request, outcome)) {
		shift_end();
		return;
	}
	by_period = by_counter && op->settles && op->processes && !request->quiet;
	if (by_counter) {
		/* The first may end at once: running code for the first time faults its pages in.
		 */
		spin_tick();
		spin_tick();
	}
	if (request->sweep_control)
		raise(SIGSTOP); /* the parent delays access checks from here */
	preempted = request->timed ? times_preempted() : 0;
	warm_up = by_counter && op->settles && request->warmup > SLOW_WARMUP ? SLOW_WARMUP
									     : request->warmup;
	for (bench->serial = 0; bench->serial < warm_up + request->samples; bench->serial++) {
		if (!take(bench, request, assistant, outcome) || outcome->skipped)
			break;
	}
	if (request->sweep_control)
		raise(SIGSTOP); /* to here: 9,437 directories at 110 us each would take minutes */
	if (request->timed)
		outcome->timing.preempted = times_preempted() - preempted;
	shift_end();
	outcome->sampled = true;
	if (request->whole_ppm && (bench->length || op->run) && !outcome->failures) {
		region_announce(REGION_WHOLE + outcome->index);
		whole_measure(bench, request, &outcome->whole);
	}
	if (op->teardown)
		op->teardown(bench);
}
