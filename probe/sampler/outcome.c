// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/outcome.h"

#include "protocol/channel.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

bool outcomes_make(const struct request *request, const struct hook_counts *counts,
		   struct outcomes *outcomes)
{
	size_t ticked_at = sizeof(struct outcome) + request->samples * sizeof(uint64_t);
	size_t calls_at = ticked_at + request->samples * sizeof(uint32_t);
	size_t columns = request->count ? hook_count_size(counts) : 0;
	size_t size = calls_at + request->samples * columns * sizeof(uint32_t);

	size = (size + 63) / 64 * 64; /* copies share no line of the caches */
	outcomes->copies = request->copies ? (unsigned int)request->copies : 1;
	outcomes->size = size;
	outcomes->memory = mmap(NULL, outcomes->copies * size, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (outcomes->memory == MAP_FAILED) {
		channel_error("no memory for %lu samples", request->samples);
		return false;
	}
	memset(outcomes->memory, 0, outcomes->copies * size);
	for (unsigned int place = 0; place < outcomes->copies; place++) {
		struct outcome *outcome = outcome_of(outcomes, place);

		outcome->ticked_at = (uint32_t *)(void *)((char *)outcome + ticked_at);
		outcome->calls = (uint32_t *)(void *)((char *)outcome + calls_at);
	}
	return true;
}

struct outcome *outcome_of(const struct outcomes *outcomes, unsigned int place)
{
	return (struct outcome *)(void *)(outcomes->memory + place * outcomes->size);
}

void outcomes_renew(const struct outcomes *outcomes, unsigned int index)
{
	for (unsigned int place = 0; place < outcomes->copies; place++) {
		struct outcome *outcome = outcome_of(outcomes, place);

		*outcome = (struct outcome){
			.index = index,
			.calls = outcome->calls,
			.ticked_at = outcome->ticked_at,
		};
	}
}

static bool is_well(const struct outcome *outcome)
{
	return outcome->sampled && !outcome->failures && !outcome->skipped;
}

/* The one that tells best what went wrong: a call, the lack of something, then an end. */
static const struct outcome *worst(const struct outcomes *outcomes)
{
	const struct outcome *found = outcome_of(outcomes, 0);

	for (unsigned int place = 0; place < outcomes->copies; place++) {
		const struct outcome *each = outcome_of(outcomes, place);

		if (each->failures)
			return each;
		if ((each->skipped && !found->skipped) ||
		    (!each->finished && found->finished && !found->skipped))
			found = each;
	}
	return found;
}

static void add_timing(struct timing *all, const struct timing *more)
{
	all->counted += more->counted;
	all->moved += more->moved;
	all->preempted += more->preempted;
	all->spun += more->spun;
	if (more->spun && (!all->spun || more->least_spun < all->least_spun))
		all->least_spun = more->least_spun;
	if (more->most_spun > all->most_spun)
		all->most_spun = more->most_spun;
}

void outcomes_join(const struct outcomes *outcomes)
{
	struct outcome *all = outcome_of(outcomes, 0);
	const struct outcome *wrong = worst(outcomes);
	unsigned int passes = all->passes;

	for (unsigned int place = 1; place < outcomes->copies; place++) {
		const struct outcome *each = outcome_of(outcomes, place);

		add_timing(&all->timing, &each->timing);
		for (size_t i = place; is_well(wrong) && i < all->count; i += outcomes->copies)
			all->value[i] = each->value[i];
	}
	if (is_well(wrong) || wrong == all)
		return;
	memcpy(all, wrong, offsetof(struct outcome, ticked_at));
	all->passes = passes;
}

/* What the hooks were run in each reading; a hook that never ran is not named. */
static void send_counts(const struct hook_counts *counts, const struct outcome *outcome)
{
	unsigned int size = hook_count_size(counts);

	for (unsigned int hook = 0; hook < size; hook++) {
		const uint32_t *first = outcome->calls + hook;
		uint32_t any = 0;

		for (size_t i = 0; i < outcome->count; i++)
			any |= first[i * size];
		if (any)
			channel_counts(outcome->index, hook_count_name(counts, hook), first,
				       outcome->count, size);
	}
}

/* What whole cycles cost: all rounds that were finished, and why there are no more. */
static void send_whole(const struct request *request, const struct outcome *outcome)
{
	const struct whole *whole = &outcome->whole;
	const char *word = "ok";
	const char *detail = whole->detail;

	for (unsigned int i = 0; i < whole->rounds; i++)
		channel_round(outcome->index, &whole->round[i], request->icount_shift);
	if (*detail) {
		word = "failed";
	} else if (!whole->finished) { /* killed, or ended by itself */
		word = outcome->ended ? "crashed" : "timeout";
		detail = "whole cycles were not finished";
	}
	channel_whole(outcome->index, word, whole->error, detail);
}

void outcome_send(const struct request *request, const struct hook_counts *counts,
		  const struct outcome *outcome, unsigned long deadline_ms)
{
	const char *word = "ok";
	size_t count = 0;
	char detail[160];

	snprintf(detail, sizeof(detail), "%s", outcome->detail);
	if (outcome->sampled && !outcome->failures && !outcome->skipped) {
		/* Whatever became of the whole cost, the readings are good. */
		count = outcome->count;
	} else if (!outcome->ended) {
		word = "timeout";
		snprintf(detail, sizeof(detail), "not finished in %lu ms of guest time",
			 deadline_ms);
	} else if (!outcome->finished) {
		word = "crashed";
		if (WIFSIGNALED(outcome->status))
			snprintf(detail, sizeof(detail), "killed by signal %d (%s)",
				 WTERMSIG(outcome->status), strsignal(WTERMSIG(outcome->status)));
		else
			snprintf(detail, sizeof(detail), "left with status %d",
				 WEXITSTATUS(outcome->status));
	} else if (outcome->skipped) {
		word = "skipped";
	} else if (outcome->failures) {
		word = "failed";
	}
	channel_samples(outcome->index, outcome->value, count);
	if (count)
		channel_ticked(outcome->index, outcome->ticked_at, outcome->ticked);
	if (count && request->count)
		send_counts(counts, outcome);
	if (count && outcome->whole.begun)
		send_whole(request, outcome);
	channel_end(outcome->index, word, count, outcome->failures, outcome->error, detail);
	if (count && request->timed)
		timing_send(request->benchmark[outcome->index], &outcome->timing,
			    (unsigned int)(count * (request->copies ? request->copies : 1)));
}
