// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/whole.h"

#include "init/disk.h"
#include "layout/slabs.h"
#include "sampler/spin.h"
#include "sampler/windows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

static uint64_t cycle_insns(const struct whole_round *round, const struct request *request)
{
	return ((round->bulk - round->loop) >> request->icount_shift) / round->ops + 1;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int by_value(const void *a, const void *b)
{
	int64_t one = *(const int64_t *)a, two = *(const int64_t *)b;

	return one < two ? -1 : one > two;
}

/* The middle one of some values, which are sorted. */
static int64_t middle(int64_t *values, unsigned int count)
{
	qsort(values, count, sizeof(values[0]), by_value);
	return values[count / 2];
}

/**
 * struct left - what windows leave to the ticks after them, in instructions
 * @ticks: what each tick takes after a whole window
 * @more: by how much that is more than after a short one
 * @least: what the longest tick after a window takes, of the window of which it takes least
 */
struct left {
	int64_t ticks[1 + WHOLE_TICKS];
	int64_t more[1 + WHOLE_TICKS];
	int64_t least;
};

/* More than a plain tick takes. */
static int64_t long_tick(const struct left *left, unsigned int count)
{
	int64_t plain = INT64_MAX;

	for (unsigned int k = 1; k <= count; k++)
		plain = smaller(plain, left->ticks[k]);
	return plain + plain / 4 + 1;
}

/* The last tick that takes longer than a plain one; 0: none does. */
static unsigned int last_tick(const struct left *left, unsigned int count)
{
	int64_t longer = long_tick(left, count);

	while (count && left->ticks[count] < longer)
		count--;
	return count;
}

/*
 * Try windows and short ones in turn. Each tick is the middle one of a few: what the guest does of
 * its own falls into another tick each time. Where FEW show nothing left, there are no more of
 * them. False: it failed.
 */
static bool try_windows(struct bench *bench, struct bench *table, const struct request *request,
			struct whole *whole, struct left *left)
{
	int64_t taken[1 + WHOLE_TICKS][WARM_UPS], more[1 + WHOLE_TICKS][WARM_UPS];
	int64_t sorted[WARM_UPS];

	left->least = INT64_MAX;
	for (unsigned int i = 0; i < WARM_UPS; i++) {
		struct whole_round full = {.ops = whole->ops}, part = {.ops = whole->ops / SHORT};
		int64_t longest[2] = {0, 0};

		if (!window_take(bench, table, request, whole, &full) ||
		    !window_take(bench, table, request, whole, &part))
			return false;
		for (unsigned int k = 1; k <= whole->ticks; k++) {
			taken[k][i] = (int64_t)(full.taken[k] >> request->icount_shift);
			more[k][i] =
				taken[k][i] - (int64_t)(part.taken[k] >> request->icount_shift);
			longest[0] = larger(longest[0], taken[k][i]);
			longest[1] = larger(longest[1], taken[k][i] - more[k][i]);
		}
		left->least = smaller(left->least, smaller(longest[0], longest[1]));
		if (i != FEW - 1 && i != WARM_UPS - 1)
			continue;
		for (unsigned int k = 1; k <= whole->ticks; k++) {
			memcpy(sorted, taken[k], sizeof(sorted));
			left->ticks[k] = middle(sorted, i + 1);
			memcpy(sorted, more[k], sizeof(sorted));
			left->more[k] = middle(sorted, i + 1);
		}
		if (!last_tick(left, whole->ticks))
			break;
	}
	return true;
}

/* See windows through the last long tick and one more. */
static void set_ticks(struct whole *whole, const struct left *left)
{
	whole->ticks = last_tick(left, whole->ticks) + MORE_TICKS;
	if (whole->ticks > WHOLE_TICKS)
		whole->ticks = WHOLE_TICKS;
}

/* Have windows of the most cycles that fit between two ticks. */
static void enlarge(struct whole *whole, uint64_t most)
{
	whole->ops = MOST_OPS;
	while (whole->ops > SEEN_OPS && whole->ops > most)
		whole->ops /= 2;
	if (whole->ops < SEEN_OPS)
		whole->ops = SEEN_OPS;
}

/*
 * How many ticks a window is seen through: up to the last that takes longer. Where little is left
 * of a cycle, windows have more of them, up to `most`. Where some windows leave nothing (Linux 7.2
 * frees 26 timerfds at once, and has a grace period for it that is none of a cycle), they have as
 * many as fit, as where none leaves anything: what ticks differ by is shared by more cycles. False:
 * it failed.
 */
static bool choose_ticks(struct bench *bench, struct bench *table, const struct request *request,
			 struct whole *whole, uint64_t most)
{
	struct left left;
	unsigned int longest = 1, times;
	int64_t one;

	whole->ticks = FIRST_TICKS;
	if (!try_windows(bench, table, request, whole, &left))
		return false;
	if (last_tick(&left, whole->ticks) >= FIRST_TICKS - 1) {
		whole->ticks = WHOLE_TICKS;
		if (!try_windows(bench, table, request, whole, &left))
			return false;
	}
	if (whole->ops == SEEN_OPS && left.least < long_tick(&left, whole->ticks)) {
		enlarge(whole, most);
		if (!try_windows(bench, table, request, whole, &left))
			return false;
		set_ticks(whole, &left);
		return true;
	}
	set_ticks(whole, &left);
	if (whole->ops < SEEN_OPS || whole->ticks == MORE_TICKS)
		return true;
	/* RCU runs all that it can at one of them. */
	for (unsigned int k = 1; k <= whole->ticks && k < FIRST_TICKS; k++)
		longest = left.ticks[k] > left.ticks[longest] ? k : longest;
	one = left.more[longest] / (whole->ops - whole->ops / SHORT);
	times = 1 + (one < ONE_CALLBACK) + (one < TWO_CALLBACKS && bench->length == 1);
	while (times > 1 && times * SEEN_OPS > most)
		times--;
	whole->ops *= times;
	return true;
}

/*
 * How many cycles a window has that is seen through, and how many ticks it takes, found by making
 * a few. False: it failed.
 */
static bool choose_window(struct bench *bench, struct bench *table, const struct request *request,
			  struct whole *whole)
{
	uint64_t most = ((uint64_t)tick_ns() >> request->icount_shift) / 20 * 17, cycle;
	struct whole_round round = {.ops = LEAST_OPS};

	whole->ticks = 1;
	if (!window_take(bench, table, request, whole, &round))
		return false;
	cycle = cycle_insns(&round, request);
	whole->ops = SEEN_OPS;
	while (whole->ops > LEAST_OPS && whole->ops * cycle > most)
		whole->ops = whole->ops == SEEN_OPS ? SEEN_OPS / 2 : whole->ops - LEAST_OPS;
	return choose_ticks(bench, table, request, whole, most / cycle);
}

/* Whether the standard error of the mean over whole windows is small enough. */
static bool precise(const struct whole *whole, const struct request *request)
{
	double sum = 0, squares = 0, mean, variance, enough;
	unsigned int count = 0;

	for (unsigned int i = 0; i < whole->rounds; i++) {
		const struct whole_round *round = &whole->round[i];
		double one = (double)(round->bulk - round->loop) / round->ops;

		if (round->ops != whole->ops)
			continue;
		sum += one;
		squares += one * one;
		count++;
	}
	if (count < LEAST_WINDOWS)
		return false;
	mean = sum / count;
	variance = (squares - sum * mean) / (count - 1);
	enough = mean * (double)request->whole_ppm / 1e6;
	if (enough < (double)(1UL << request->icount_shift))
		enough = (double)(1UL << request->icount_shift);
	return variance / count <= enough * enough;
}

/* Windows of a pair, and the one that comes before the next, where a cycle is short. */
static unsigned int kinds(const struct whole *whole)
{
	return whole->ops < SEEN_OPS ? 2 : 3;
}

static bool is_settled(const struct whole *whole)
{
	return whole->rounds >= WHOLE_PAIRS * kinds(whole);
}

/* What kind of window comes at this place. */
static void set_kind(const struct whole *whole, struct whole_round *round)
{
	/* Of 8,000 tries these miss least of what comes once in 12 to 130 cycles. */
	static const unsigned char between[WHOLE_PAIRS] = {11, 1, 9, 22, 19, 18, 15, 20};
	unsigned int kind = whole->rounds % kinds(whole);

	round->ops = whole->ops;
	round->unseen = is_settled(whole) || kind == 2;
	round->brief = !round->unseen && kind == 1;
	if (round->brief)
		round->ops /= SHORT;
	else if (!is_settled(whole) && round->unseen)
		round->ops = round->ops * between[whole->rounds / 3] / SEEN_OPS;
}

void whole_measure(struct bench *bench, const struct request *request, struct whole *whole)
{
	size_t size = MOST_OPS * sizeof(struct bench);
	struct bench *table =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int cycles = 0;
	uint64_t insns = 0;

	whole->begun = true;
	if (table == MAP_FAILED) {
		snprintf(whole->detail, sizeof(whole->detail), "no memory for the cycles");
		whole->error = ENOMEM;
		return;
	}
	memset(table, 0, size);
	if (disk_none(request->filesystem))
		slabs_turn();
	prctl(PR_SET_TIMERSLACK, 1);
	spin_tick();
	if (!choose_window(bench, table, request, whole))
		return;
	whole->chosen = true;
	while (!whole->finished) {
		struct whole_round *round = &whole->round[whole->rounds];

		set_kind(whole, round);
		if (!window_take(bench, table, request, whole, round))
			return;
		whole->rounds++;
		cycles += round->ops;
		insns += round->bulk >> request->icount_shift;
		whole->finished = is_settled(whole) &&
				  (whole->rounds == WHOLE_ROUNDS || insns >= MOST_INSNS ||
				   (cycles >= CYCLES && precise(whole, request)));
	}
}
