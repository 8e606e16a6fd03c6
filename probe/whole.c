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

static int run_cycles(struct bench *table, unsigned int count, uint64_t *bulk)
{
	uint64_t before = counter_now();
	int error = 0;

	if (has_functions(table))
		error = go_by_functions(table, count);
	else
		go_round(table, count, call_make);
	*bulk = counter_now() - before;
	return error;
}

/* From just after a tick until all is quiet again; 0 or -errno. */
static int window(struct bench *table, const struct request *request, struct whole_round *round)
{
	uint64_t ended, written;
	struct spin spin;
	int error;

	error = run_cycles(table, round->ops, &round->bulk);
	ended = counter_now();
	if (!error)
		error = write_back(request);
	written = counter_now() - ended;
	spin_settle(&spin);
	round->settle = written + spin.elapsed;
	round->taken = written + spin.taken;
	return error || spin.quiet ? error : -ETIME;
}

/* Make round->ops cycles; the warm-up does all that a round does, and is not one. */
static bool take_round(struct bench *bench, struct bench *table, const struct request *request,
		       struct whole *whole, struct whole_round *round)
{
	bool warm_up = round != &whole->round[whole->rounds];
	int error = arm_all(bench, table, round->ops);

	if (error) {
		give_up(whole, "arming", error);
		return false;
	}
	round->loop = has_functions(bench) ? 0 : loop_cost(table, round->ops);
	spin_tick();
	if (!warm_up)
		region_begin();
	error = window(table, request, round);
	if (!warm_up)
		region_end();
	if (error) {
		give_up(whole,
			error == -ETIME ? "what was left to be done did not come to an end"
					: "preparing or writing back",
			error);
		return false;
	}
	return all_right(table, round->ops, whole);
}

/* Units of the counter for one cycle. */
static double cost(const struct whole_round *round)
{
	double idle = spin_idle_share() * (double)(round->bulk + round->settle);

	return ((double)(round->bulk + round->taken - round->loop) - idle) / round->ops;
}

/* Whether the standard error of the mean over rounds is small enough. */
static bool precise(const struct whole *whole, const struct request *request)
{
	double sum = 0, squares = 0, mean, variance, enough;

	if (whole->rounds < 2)
		return false;
	for (unsigned int i = 0; i < whole->rounds; i++) {
		double one = cost(&whole->round[i]);

		sum += one;
		squares += one * one;
	}
	mean = sum / whole->rounds;
	variance = (squares - sum * mean) / (whole->rounds - 1);
	enough = mean * (double)request->whole_ppm / 1e6;
	if (enough < (double)(1UL << request->icount_shift))
		enough = (double)(1UL << request->icount_shift);
	return variance / whole->rounds <= enough * enough;
}

/*
 * Where processes are made or take turns no number of rounds is precise: they are shorter, and
 * after so many instructions there are no more.
 */
static unsigned int most_rounds(const struct bench *bench, const struct whole *whole,
				const struct request *request)
{
	uint64_t spent = 0;

	for (unsigned int i = 0; i < whole->rounds; i++)
		spent += whole->round[i].bulk >> request->icount_shift;
	return bench->op->settles && spent > ROUND_INSNS / 4 && whole->rounds > 1 ? whole->rounds
										  : WHOLE_ROUNDS;
}

/* So many cycles that a round does not take too long; found by making a few. 0: it failed. */
static unsigned int choose_ops(struct bench *bench, struct bench *table,
			       const struct request *request, struct whole *whole)
{
	unsigned int least = bench->op->settles ? LEAST_SETTLED : LEAST_OPS;
	struct whole_round few = {.ops = least};
	uint64_t cycle, ops;

	if (!take_round(bench, table, request, whole, &few))
		return 0;
	cycle = (few.bulk >> request->icount_shift) / least + 1;
	ops = ROUND_INSNS / (bench->op->settles ? 6 * cycle : cycle);
	if (ops > MOST_OPS)
		return MOST_OPS;
	return ops < least ? least : (unsigned int)ops;
}

void whole_measure(struct bench *bench, const struct request *request, struct whole *whole)
{
	size_t size = MOST_OPS * sizeof(struct bench);
	struct bench *table =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct whole_round warm_up = {0};
	unsigned int ops;

	whole->begun = true;
	if (table == MAP_FAILED) {
		give_up(whole, "no memory for the cycles", -ENOMEM);
		return;
	}
	memset(table, 0, size);
	ops = choose_ops(bench, table, request, whole);
	/*
	 * What cycles free comes back after a grace period of RCU only: slabs grow until as much is
	 * freed as is taken. All code that a round runs has been run after this, too.
	 */
	warm_up.ops = ops / 2;
	if (!ops)
		return;
	/* Where rounds are short, the one that chose their length was one. */
	if (warm_up.ops >= LEAST_SETTLED && !take_round(bench, table, request, whole, &warm_up))
		return;
	do {
		struct whole_round *round = &whole->round[whole->rounds];

		round->ops = ops;
		if (!take_round(bench, table, request, whole, round))
			return;
		whole->rounds++;
	} while (whole->rounds < most_rounds(bench, whole, request) && !precise(whole, request));
	whole->finished = true;
}
