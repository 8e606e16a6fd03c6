// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/windows.h"

#include "arch/sys.h"
#include "init/disk.h"
#include "sampler/region.h"
#include "sampler/spin.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void abandon(struct whole *whole, const char *why, long error)
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
static __attribute__((noinline)) void run_rounds(struct bench *table, unsigned int count,
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
			run_rounds(bench, 1, call_make);
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

			run_rounds(table + i, cycles, call_skip);
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

/* The cycles of a window, begun just after a tick; 0 or -errno. */
static int run_cycles(struct bench *table, struct whole_round *round)
{
	uint64_t before = counter_now();
	int error = 0;

	if (has_functions(table))
		error = go_by_functions(table, round->ops);
	else
		run_rounds(table, round->ops, call_make);
	round->bulk = counter_now() - before;
	round->ticks = spin_ticks_over();
	return error;
}

/* Let the guest do what the cycles left to be done: write back, then tick after tick. 0 or -errno.
 */
static int settle(const struct request *request, struct whole_round *round, unsigned int ticks)
{
	uint64_t ended = counter_now();
	int error = write_back(request);

	round->taken[0] = counter_now() - ended;
	while (!error && round->settled < ticks) {
		if (!spin_over(request->icount_shift, 0, &round->taken[1 + round->settled++]))
			error = -EAGAIN;
	}
	return error;
}

/*
 * Ticks that pass unseen before a window: all that the one before left to be done, where that was
 * not seen either; before one that is seen so many that windows begin at other places of the
 * scheduler's periods (periods.h).
 */
static unsigned int ticks_between(const struct whole *whole)
{
	const struct whole_round *round = &whole->round[whole->rounds];
	unsigned int ticks = round->unseen ? 0 : whole->rounds % SKIPS;

	return whole->rounds && round[-1].unseen ? whole->ticks + ticks : ticks;
}

/* Make the cycles of a round and see them through; 0 or -errno, with what failed in `doing`. */
static int run_round(struct bench *bench, struct bench *table, const struct request *request,
		     const struct whole *whole, struct whole_round *round, const char **doing)
{
	uint64_t taken;
	int error;

	*doing = "arming";
	error = arm_all(bench, table, round->ops);
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
	error = run_cycles(table, round);
	if (whole->chosen)
		region_end();
	if (error)
		return error;
	*doing = "writing back";
	if (round->unseen)
		return write_back(request);
	region_announce(whole->region + (round->brief ? REGION_BRIEF_LEFT : REGION_LEFT) -
			REGION_WHOLE);
	if (whole->chosen)
		region_begin();
	error = settle(request, round, whole->ticks);
	if (whole->chosen)
		region_end();
	return error;
}

bool window_take(struct bench *bench, struct bench *table, const struct request *request,
		 struct whole *whole, struct whole_round *round)
{
	unsigned int ops = round->ops, serial = bench->serial, tries = 0;
	bool brief = round->brief, unseen = round->unseen;
	const char *doing;
	int error;

	do {
		/* Cycles that a tick came before were not made: files stand where they stood. */
		if (round->bulk)
			serial = bench->serial;
		bench->serial = serial;
		*round = (struct whole_round){.ops = ops, .brief = brief, .unseen = unseen};
		error = run_round(bench, table, request, whole, round, &doing);
		if ((!error || error == -EAGAIN) && round->bulk && !all_right(table, ops, whole))
			return false;
	} while (error == -EAGAIN && ++tries < MOST_TRIES);
	if (error)
		abandon(whole, doing, error);
	return !error;
}
