/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a benchmark's cycle costs as a whole: many of them back to back, nothing dodged, until all
 * that they left to be done has been done.
 */
#ifndef LSMETER_WHOLE_H
#define LSMETER_WHOLE_H

#include "bench.h"
#include "request.h"

#define WHOLE_ROUNDS 8

/*
 * Cycles of a round. There are two rounds at least: a cost that comes at least once in 1,000 calls
 * is in every whole cost. Of cycles that take long there are fewer, so that a round is over after
 * some ROUND_INSNS instructions.
 */
#define MOST_OPS    500
#define LEAST_OPS   50
#define ROUND_INSNS 12000000

/* Where processes are made or take turns, which an emulator is slow at. */
#define LEAST_SETTLED 10

/* Units of the counter. */
struct whole_round {
	unsigned int ops;
	uint64_t loop;	 /* what the loop itself takes in user space */
	uint64_t bulk;	 /* from the first cycle to the last */
	uint64_t settle; /* from there until all was quiet */
	uint64_t taken;	 /* of that, what was not spinning */
};

struct whole {
	bool begun;
	bool finished;
	unsigned int rounds;
	int error;	  /* errno of a call that failed; 0 when it succeeded wrongly */
	char detail[160]; /* why there is no whole cost; empty when there is */
	struct whole_round round[WHOLE_ROUNDS];
};

/*
 * Measure in the current directory, after the readings of the benchmark. Rounds follow each other
 * until the standard error of their mean is at most request->whole_ppm of it (or one instruction),
 * or there is no more room for them.
 */
void whole_measure(struct bench *bench, const struct request *request, struct whole *whole);

#endif
