// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/sample.h"

#include "arch/sys.h"
#include "net/peer.h"
#include "sampler/region.h"
#include "sampler/requirements.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Whether the setup is one that denies some of what the suites do. */
static bool is_denial(const struct request *request, long result)
{
	bool denies = request->n_confine || request->landlock.layers;

	/* A path that is too long for a policy to judge is denied as well. */
	return denies && (result == -EACCES || result == -EPERM || result == -ENAMETOOLONG);
}

/* Count a call that did not do what it had to; true if it did. */
static bool check(const struct sampling *sampling, unsigned int place)
{
	const struct bench *bench = sampling->bench;
	struct outcome *outcome = sampling->outcome;
	const struct call *call = &bench->call[place];

	if (call_right(call))
		return true;
	if (call->result == -ENOSYS && !bench->serial) {
		outcome->skipped = true;
		snprintf(outcome->detail, sizeof(outcome->detail),
			 "there is no system call %ld: %s", call->nr, strerror(ENOSYS));
		return false;
	}
	if (is_denial(sampling->request, call->result) && !bench->serial) {
		outcome->skipped = true;
		snprintf(outcome->detail, sizeof(outcome->detail), "the setup denies it: %s",
			 strerror((int)-call->result));
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
static bool make_calls(const struct sampling *sampling, unsigned int from, unsigned int to)
{
	struct bench *bench = sampling->bench;

	for (unsigned int i = from; i < to; i++) {
		call_bind(bench, i);
		call_make(&bench->call[i]);
		if (!check(sampling, i))
			return false;
	}
	return true;
}

static bool fault(struct outcome *outcome, const char *where, long error)
{
	if (!error)
		return false;
	if (error == -ENOSYS && !outcome->count) {
		outcome->skipped = true;
		snprintf(outcome->detail, sizeof(outcome->detail),
			 "there is no system call for it (%s): %s", where, strerror(ENOSYS));
		return true;
	}
	outcome->failures++;
	if (!outcome->error) {
		outcome->error = (int)-error;
		snprintf(outcome->detail, sizeof(outcome->detail), "%s: %s", where,
			 strerror((int)-error));
	}
	return true;
}

/* Readings that are not kept; an emulator is slow at making processes. */
#define SLOW_WARMUP 5

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
	return error ? error : assistant_drop_caches(assistant);
}

/* Keep how often the reading just taken ran each hook. */
static void keep_calls(const struct hook_counts *counts, struct outcome *outcome)
{
	unsigned int size = hook_count_size(counts);

	for (unsigned int i = 0; i < size; i++)
		outcome->calls[outcome->count * size + i] = (uint32_t)hook_count_calls(counts, i);
}

static uint64_t take_time(struct sampling *sampling, bool counts)
{
	uint64_t took = timing_measure(sampling->bench, &sampling->outcome->timing, counts);

	if (took < sampling->least)
		sampling->least = took;
	return took;
}

/* Wait for the right moment and measure; what the counter moved by. */
static uint64_t measure(struct sampling *sampling, bool *ticked)
{
	bool counts = sampling->request->count;
	uint64_t ticks;

	/* Under emulation the time stamp counts nanoseconds; on hardware it counts faster. */
	moment_await(&sampling->moment, sampling->last);
	ticks = moment_ticks(&sampling->moment);
	if (counts)
		hook_count_begin(sampling->counts, sampling->bench->op->processes);
	sampling->last = region_measure(sampling->bench);
	if (counts)
		hook_count_end(sampling->counts);
	*ticked = moment_ticks(&sampling->moment) != ticks;
	return sampling->last;
}

/* Keep a reading. */
static void keep(const struct sampling *sampling, uint64_t took, bool ticked)
{
	const struct request *request = sampling->request;
	struct outcome *outcome = sampling->outcome;

	if (request->count)
		keep_calls(sampling->counts, outcome);
	if (ticked)
		outcome->ticked_at[outcome->ticked++] = (uint32_t)outcome->count;
	outcome->value[outcome->count++] = took >> request->icount_shift;
}

/* One reading, which is kept if it counts; false ends the benchmark. */
static bool take(struct sampling *sampling, bool counts)
{
	struct bench *bench = sampling->bench;
	const struct request *request = sampling->request;
	struct outcome *outcome = sampling->outcome;
	unsigned int end;
	uint64_t took;
	bool ticked = false;

	if (request->cold &&
	    fault(outcome, "renewing the tree", renew(bench, &sampling->assistant)))
		return false;
	bench->status = 0;
	if (fault(outcome, "arming", bench->op->arm(bench)))
		return false;
	end = bench->first + bench->calls;
	if (bench->op->before && fault(outcome, "before the cycle", bench->op->before(bench)))
		return false;
	if (!make_calls(sampling, 0, bench->first))
		return false;
	if (request->n_before &&
	    fault(outcome, "preparing", assistant_prepare(&sampling->assistant)))
		return false;
	for (unsigned int i = bench->first; i < end; i++)
		call_bind(bench, i);
	if (request->timed)
		took = take_time(sampling, counts);
	else
		took = measure(sampling, &ticked);
	for (unsigned int i = bench->first; i < end; i++) {
		/* What went wrong is counted, and needs no undoing. */
		if (!check(sampling, i))
			return true;
	}
	if (!check_status(bench, outcome))
		return true;
	if (!make_calls(sampling, end, bench->length))
		return false;
	if (counts)
		keep(sampling, took, ticked);
	return true;
}

/* So many readings; false ends the benchmark. */
static bool take_some(struct sampling *sampling, unsigned long count, bool counts)
{
	while (count-- > 0) {
		bool more = take(sampling, counts);

		sampling->bench->serial++;
		if (!more || sampling->outcome->skipped)
			return false;
	}
	return true;
}

/* The readings of one part, after some that are not kept; false ends the benchmark. */
static bool take_part(struct sampling *sampling, unsigned long warmup, unsigned long count)
{
	bool more = copies_begin(&sampling->copies) && take_some(sampling, warmup, false) &&
		    take_some(sampling, count, true);

	while (more && copies_go_on(&sampling->copies))
		more = take_some(sampling, 1, false);
	copies_end(&sampling->copies, more);
	return more;
}

static void next_turn(const struct sampling *sampling)
{
	if (sampling->copies.place)
		return;
	sampling->outcome->passes++;
	scheduling_release(sampling->scheduling);
	scheduling_acquire(sampling->scheduling);
}

/* Warm up, and take the readings: all at once, or each part of them in a turn. */
static void take_all(struct sampling *sampling)
{
	struct bench *bench = sampling->bench;
	const struct request *request = sampling->request;
	unsigned long samples = request->samples, warmup = request->warmup;

	if (sampling->moment.by_counter && bench->op->settles && warmup > SLOW_WARMUP)
		warmup = SLOW_WARMUP;
	bench->serial = bench->batch = bench->since = 0;
	sampling->least = UINT64_MAX;
	if (!take_part(sampling, warmup, 0))
		return;
	/* As many operations in a reading as the clock needs. */
	if (request->timed)
		sampling->outcome->timing.batch = bench->batch = copies_agree(
			&sampling->copies,
			warmup ? timing_batch(bench, sampling->least, request->batch) : 1);
	bench->since = bench->serial;
	if (!scheduling_active(sampling->scheduling)) {
		take_part(sampling, 0, samples);
		return;
	}
	for (unsigned int round = 0; round < SCHEDULING_ROUNDS; round++) {
		unsigned long from = samples * round / SCHEDULING_ROUNDS,
			      to = samples * (round + 1) / SCHEDULING_ROUNDS;

		next_turn(sampling);
		if (!take_part(sampling, SCHEDULING_WARMUP, to - from))
			return;
	}
	/* Nothing is cleared away while another setup has readings to take. */
	next_turn(sampling);
	take_part(sampling, 0, 0);
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
static bool set_up(const struct sampling *sampling)
{
	struct bench *bench = sampling->bench;
	struct outcome *outcome = sampling->outcome;
	const struct op *op = bench->op;
	const char *needs = peer_missing() ? "second network namespace (veth)" : op->needs;
	int error = op->setup ? op->setup(bench) : 0;

	peer_close();
	if (needs && is_unsupported(error))
		return skip(outcome, "there is no ", needs, error);
	if (is_denial(sampling->request, error))
		return skip(outcome, "the setup denies it", "", error);
	/* A container may refuse even root; a guest does not. */
	if (!in_guest && (op->needs || op->privileged) && error == -EPERM)
		return skip(outcome, "this machine does not allow it", "", error);
	return !fault(outcome, "setting up", error);
}

void sample(struct sampling *sampling)
{
	struct bench *bench = sampling->bench;
	const struct op *op = bench->op;
	const struct request *request = sampling->request;
	struct outcome *outcome = sampling->outcome;
	const char *reason = unmet_requirement(bench, request);
	bool by_counter = request->vary && !request->timed;
	unsigned long preempted;

	if (reason) {
		outcome->skipped = true;
		snprintf(outcome->detail, sizeof(outcome->detail), "%s", reason);
		return;
	}
	if (!request->cold && !set_up(sampling))
		return;
	sampling->moment = (struct moment){
		.by_counter = by_counter,
		.by_period = by_counter && op->settles && op->processes && !request->quiet,
		.rests = request->quiet || (by_counter && op->settles),
		.by_microsecond =
			by_counter && op->settles && op->network && (op->run || op->processes),
	};
	moment_open(&sampling->moment);
	if (request->sweep_control)
		raise(SIGSTOP); /* the parent delays access checks from here */
	preempted = request->timed ? times_preempted() : 0;
	take_all(sampling);
	if (request->sweep_control)
		raise(SIGSTOP); /* to here: 9,437 directories at 110 us each would take minutes */
	if (request->timed)
		outcome->timing.preempted = times_preempted() - preempted;
	outcome->sampled = true;
	if (request->whole_ppm && (bench->length || op->run) && !outcome->failures) {
		outcome->whole.region = REGION_WHOLE + outcome->index;
		whole_measure(bench, request, &outcome->whole);
	}
	if (op->teardown)
		op->teardown(bench);
}
