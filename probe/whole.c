// SPDX-License-Identifier: GPL-2.0-or-later
#include "whole.h"

#include "disk.h"
#include "region.h"
#include "spin.h"
#include "sys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

static void give_up(struct whole *whole, const char *why, long error)
{
	whole->error = (int)-error;
	snprintf(whole->detail, sizeof(whole->detail), "%s", why);
}

/* Fill `count` copies of the benchmark, each with the names of its own cycle. */
static int arm_all(struct bench *bench, struct bench *table, unsigned int count)
{
	int error = 0;

	bench->status = 0;
	for (unsigned int i = 0; i < count && !error; i++) {
		table[i] = *bench;
		error = bench->op->arm(&table[i]);
		bench->serial++;
	}
	return error;
}

/* The loop. Its instructions in user space are the same with call_make and with call_skip. */
static __attribute__((noinline)) void go_round(struct bench *table, unsigned int count,
					       void (*call)(struct call *call))
{
	for (unsigned int i = 0; i < count; i++) {
		for (unsigned int k = 0; k < table[i].length; k++) {
			call_bind(&table[i], k);
			call(&table[i].call[k]);
		}
	}
}

/* Calls of one cycle from one place up to another. */
static void make_calls(struct bench *bench, unsigned int from, unsigned int to)
{
	for (unsigned int k = from; k < to; k++) {
		call_bind(bench, k);
		call_make(&bench->call[k]);
	}
}

/* Cycles that are more than calls in a row. */
static int go_by_functions(struct bench *table, unsigned int count)
{
	const struct op *op = table[0].op;
	int error = 0;

	for (unsigned int i = 0; i < count && !error; i++) {
		struct bench *bench = &table[i];

		if (op->before)
			error = op->before(bench);
		if (error)
			break;
		if (!op->run) {
			go_round(bench, 1, call_make);
			continue;
		}
		make_calls(bench, 0, bench->first);
		op->run(bench);
		make_calls(bench, bench->first + bench->calls, bench->length);
	}
	return error;
}

static bool has_functions(const struct bench *bench)
{
	return bench->op->before || bench->op->run;
}

/* What the loop takes without its calls, piece by piece; a tick may fall into one of three. */
static uint64_t loop_cost(struct bench *table, unsigned int count)
{
	const unsigned int piece = 50;
	uint64_t sum = 0;

	for (unsigned int i = 0; i < count; i += piece) {
		unsigned int cycles = count - i < piece ? count - i : piece;
		uint64_t least = UINT64_MAX;

		for (int k = 0; k < 3; k++) {
			uint64_t before = counter_now(), took;

			go_round(table + i, cycles, call_skip);
			took = counter_now() - before;
			if (took < least)
				least = took;
		}
		sum += least;
	}
	return sum;
}

/* Hold every call of the round against what it had to do. */
static bool all_right(const struct bench *table, unsigned int count, struct whole *whole)
{
	for (unsigned int i = 0; i < count; i++) {
		for (unsigned int k = 0; k < table[i].length; k++) {
			const struct call *call = &table[i].call[k];

			if (call_right(call))
				continue;
			whole->error = call->result < 0 ? (int)-call->result : 0;
			snprintf(
				whole->detail, sizeof(whole->detail),
				"system call %ld, number %u of the cycle, returned %ld in cycle %u",
				call->nr, k + 1, call->result, table[i].serial);
			return false;
		}
		if (table[i].status) {
			snprintf(whole->detail, sizeof(whole->detail), "status %d in cycle %u",
				 table[i].status, table[i].serial);
			return false;
		}
	}
	return true;
}

/* What is written back later, on a disk, belongs to the operations that wrote it. */
static int write_back(const struct request *request)
{
	int fd, error;

	if (disk_none(request->filesystem))
		return 0;
	fd = sys_open(".", O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return fd;
	error = (int)sys4(SYS_syncfs, fd, 0, 0, 0);
	sys_close(fd);
	return error;
}

/* One tick more that is seen. */
static int see_tick(const struct request *request, struct whole_round *round)
{
	if (round->settled == WHOLE_TICKS)
		return -ETIME;
	return spin_over(request->icount_shift, 0, &round->taken[1 + round->settled++]) ? 0
											: -EAGAIN;
}

/* Cycles between two ticks; 0 or -errno. */
static int run_piece(struct bench *table, unsigned int count, struct whole_round *round)
{
	uint64_t before = counter_now();
	int error = 0;

	if (has_functions(table))
		error = go_by_functions(table, count);
	else
		go_round(table, count, call_make);
	round->bulk += counter_now() - before;
	round->ticks += spin_ticks_over();
	return error;
}

/* The cycles of a window, begun just after a tick, piece by piece; 0 or -errno. */
static int run_cycles(struct bench *table, const struct request *request, struct whole_round *round,
		      unsigned int pieces)
{
	unsigned int count = round->ops / pieces;
	int error = run_piece(table, count, round);

	for (unsigned int piece = 1; piece < pieces && !error; piece++) {
		error = see_tick(request, round);
		if (!error)
			error = run_piece(table + piece * count, count, round);
	}
	return error;
}

/* Let the guest do what the cycles left to be done: write back, then tick after tick. 0 or -errno.
 */
static int settle(const struct request *request, struct whole_round *round, unsigned int ticks)
{
	uint64_t ended = counter_now();
	int error = write_back(request);

	round->taken[0] = counter_now() - ended;
	while (!error && round->settled < ticks)
		error = see_tick(request, round);
	return error;
}

/*
 * Ticks that pass unseen before a window: all that the one before left to be done, where that was
 * not seen either; else so many that windows begin at other places of the scheduler's periods
 * (periods.h).
 */
static unsigned int ticks_between(const struct whole *whole)
{
	return whole->rounds > SETTLED ? whole->ticks : whole->rounds % SKIPS;
}

/* Make the cycles of a round and see them through; 0 or -errno, with what failed in `doing`. */
static int run_round(struct bench *bench, struct bench *table, const struct request *request,
		     const struct whole *whole, struct whole_round *round, const char **doing)
{
	int error = arm_all(bench, table, round->ops);
	uint64_t taken;

	*doing = "arming";
	if (error)
		return error;
	round->loop = has_functions(bench) ? 0 : loop_cost(table, round->ops);
	region_announce(whole->region);
	*doing = "sleeping until a tick";
	if (!spin_over(request->icount_shift, ticks_between(whole), &taken))
		return -EAGAIN;
	*doing = "preparing";
	if (whole->chosen)
		region_begin();
	error = run_cycles(table, request, round, whole->pieces);
	if (whole->chosen)
		region_end();
	if (error)
		return error;
	*doing = "writing back";
	if (whole->rounds >= SETTLED) {
		round->settled = 0;
		return write_back(request);
	}
	region_announce(whole->region + (round->half ? REGION_HALF_LEFT : REGION_LEFT) -
			REGION_WHOLE);
	if (whole->chosen)
		region_begin();
	error = settle(request, round, whole->ticks);
	if (whole->chosen)
		region_end();
	return error;
}

/* A round that a tick slipped past is taken again. */
static bool take_round(struct bench *bench, struct bench *table, const struct request *request,
		       struct whole *whole, struct whole_round *round)
{
	unsigned int ops = round->ops, tries = 0;
	bool half = round->half;
	const char *doing;
	int error;

	do {
		*round = (struct whole_round){.ops = ops, .half = half};
		error = run_round(bench, table, request, whole, round, &doing);
		if ((!error || error == -EAGAIN) && round->bulk && !all_right(table, ops, whole))
			return false;
	} while (error == -EAGAIN && ++tries < MOST_TRIES);
	if (error == -ETIME)
		doing = "what was left to be done did not come to an end";
	if (error)
		give_up(whole, doing, error);
	return !error;
}

static uint64_t cycle_insns(const struct whole_round *round, const struct request *request)
{
	return ((round->bulk - round->loop) >> request->icount_shift) / round->ops + 1;
}

static int by_value(const void *a, const void *b)
{
	int64_t one = *(const int64_t *)a, two = *(const int64_t *)b;

	return one < two ? -1 : one > two;
}

/*
 * Try windows and half ones in turn. What ticks take after whole ones, each the middle one of a
 * few, and how much more whole windows leave than half ones: what the guest does of its own falls
 * into another tick each time. In instructions; false: it failed.
 */
static bool try_windows(struct bench *bench, struct bench *table, const struct request *request,
			struct whole *whole, int64_t *ticks, int64_t *left)
{
	int64_t taken[1 + WHOLE_TICKS][WARM_UPS], more[WARM_UPS] = {0};

	for (int i = 0; i < WARM_UPS; i++) {
		struct whole_round full = {.ops = whole->ops}, half = {.ops = whole->ops / 2};

		if (!take_round(bench, table, request, whole, &full) ||
		    !take_round(bench, table, request, whole, &half))
			return false;
		for (unsigned int k = 1; k <= whole->ticks; k++) {
			taken[k][i] = (int64_t)(full.taken[k] >> request->icount_shift);
			more[i] += taken[k][i] - (int64_t)(half.taken[k] >> request->icount_shift);
		}
	}
	for (unsigned int k = 1; k <= whole->ticks; k++) {
		qsort(taken[k], WARM_UPS, sizeof(taken[k][0]), by_value);
		ticks[k] = taken[k][WARM_UPS / 2];
	}
	qsort(more, WARM_UPS, sizeof(more[0]), by_value);
	*left = more[WARM_UPS / 2];
	return true;
}

/* The last tick of so many that takes longer than a plain one; 0: none does. */
static unsigned int last_tick_of(const int64_t *ticks, unsigned int count)
{
	int64_t plain = INT64_MAX;

	for (unsigned int k = 1; k <= count; k++)
		plain = ticks[k] < plain ? ticks[k] : plain;
	while (count && ticks[count] <= plain + plain / 4)
		count--;
	return count;
}

/*
 * How many ticks a window is seen through: up to the last that takes longer. Where little is left
 * of a cycle, windows have more of them, up to `most`. False: it failed.
 */
static bool choose_ticks(struct bench *bench, struct bench *table, const struct request *request,
			 struct whole *whole, uint64_t most)
{
	int64_t ticks[1 + WHOLE_TICKS], left;

	whole->ticks = FIRST_TICKS;
	if (!try_windows(bench, table, request, whole, ticks, &left))
		return false;
	if (last_tick_of(ticks, whole->ticks) >= FIRST_TICKS - 1) {
		whole->ticks = WHOLE_TICKS;
		if (!try_windows(bench, table, request, whole, ticks, &left))
			return false;
	}
	whole->ticks = last_tick_of(ticks, whole->ticks) + MORE_TICKS;
	if (whole->ticks > WHOLE_TICKS)
		whole->ticks = WHOLE_TICKS;
	if (whole->ops < SEEN_OPS || whole->ticks == MORE_TICKS)
		return true;
	left /= whole->ops / 2;
	if (left < ONE_CALLBACK && 3 * SEEN_OPS <= most)
		whole->ops = 3 * SEEN_OPS;
	else if (left < TWO_CALLBACKS && 2 * SEEN_OPS <= most)
		whole->ops = 2 * SEEN_OPS;
	return true;
}

/*
 * How many cycles a window has that is seen through, in how many pieces, and how many ticks it
 * takes, found by making a few. False: it failed.
 */
static bool choose_window(struct bench *bench, struct bench *table, const struct request *request,
			  struct whole *whole)
{
	uint64_t most = ((uint64_t)tick_ns() >> request->icount_shift) / 10 * 7, cycle;
	struct whole_round round = {.ops = LEAST_OPS};

	whole->pieces = whole->ticks = 1;
	if (!take_round(bench, table, request, whole, &round))
		return false;
	cycle = cycle_insns(&round, request);
	whole->ops = SEEN_OPS;
	while (whole->ops > LEAST_OPS && whole->ops * cycle > 2 * most)
		whole->ops = whole->ops == SEEN_OPS ? SEEN_OPS / 3 : LEAST_OPS;
	if (whole->ops > LEAST_OPS && whole->ops * cycle > most)
		whole->pieces = 2;
	if (!choose_ticks(bench, table, request, whole, 2 * most / cycle))
		return false;
	if (whole->ops > LEAST_OPS && whole->ops * cycle > most)
		whole->pieces = 2;
	/* What nothing is left of may go on for longer. */
	whole->most =
		whole->ticks > MORE_TICKS || most / cycle < whole->ops ? whole->ops : MOST_OPS;
	while (whole->most > whole->ops && whole->most * cycle > most)
		whole->most /= 2;
	if (whole->most < whole->ops)
		whole->most = whole->ops;
	return true;
}

/* Whether the standard error of the mean over whole windows is small enough. */
static bool precise(const struct whole *whole, const struct request *request)
{
	double sum = 0, squares = 0, mean, variance, enough;
	unsigned int count = 0;

	for (unsigned int i = 0; i < whole->rounds; i++) {
		const struct whole_round *round = &whole->round[i];
		double one = (double)(round->bulk - round->loop) / round->ops;

		if (round->ops != whole->most)
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

void whole_measure(struct bench *bench, const struct request *request, struct whole *whole)
{
	size_t size = MOST_OPS * sizeof(struct bench);
	struct bench *table =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int cycles = 0;
	uint64_t insns = 0;

	whole->begun = true;
	if (table == MAP_FAILED) {
		give_up(whole, "no memory for the cycles", -ENOMEM);
		return;
	}
	memset(table, 0, size);
	prctl(PR_SET_TIMERSLACK, 1);
	spin_tick();
	if (!choose_window(bench, table, request, whole))
		return;
	whole->chosen = true;
	do {
		struct whole_round *round = &whole->round[whole->rounds];

		round->half = whole->rounds < SETTLED && whole->rounds % 2;
		round->ops = round->half	       ? whole->ops / 2
			     : whole->rounds < SETTLED ? whole->ops
						       : whole->most;
		if (!take_round(bench, table, request, whole, round))
			return;
		cycles += round->ops;
		insns += round->bulk >> request->icount_shift;
	} while (++whole->rounds < SETTLED || (whole->rounds < WHOLE_ROUNDS && insns < MOST_INSNS &&
					       (cycles < CYCLES || !precise(whole, request))));
	whole->finished = true;
}
