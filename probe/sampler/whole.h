/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a benchmark's cycle costs as a whole. Windows of cycles back to back begin just after a
 * timer tick and end before the next; then the guest sleeps, and tick after tick is seen what it
 * does of what the cycles left to be done. How fast the guest's clock runs is in neither.
 */
#ifndef LSMETER_SAMPLER_WHOLE_H
#define LSMETER_SAMPLER_WHOLE_H

#include "ops/bench.h"
#include "protocol/request.h"

#define WHOLE_ROUNDS 128
#define WHOLE_TICKS  16

/*
 * A window has SEEN_OPS cycles, where they fit between two ticks, or a half or a third of them; or
 * LEAST_OPS, with ticks in it. Every other one is short: what the guest does after it that does not
 * come of its cycles is the same. RCU runs ten callbacks at a time where the processor has
 * something else to do, and begins anew after 100: of the two to four that a cycle leaves, a short
 * window has more than ten, and a whole one no more than 100. Where a cycle leaves one, windows
 * have twice as many cycles; where it is a single call, three times as many, or with two callbacks
 * twice. Where it leaves nothing, they have up to MOST_OPS. As little of this as can be hangs on
 * what the setup at hand adds: windows of one length are compared best.
 *
 * There are WHOLE_PAIRS of them. Between two is a window that is not seen through, each of another
 * length (set_kind), where SEEN_OPS fit: what the guest does once in 30 or 60 cycles would else
 * fall into windows of one kind only. After the pairs none is seen through, until there were CYCLES
 * or MOST_INSNS, and LEAST_WINDOWS of the longest kind at least.
 */
#define ONE_CALLBACK  380 /* instructions at most, with its share of running it */
#define TWO_CALLBACKS 595
#define SHORT	      4 /* times as many cycles has a whole window */
#define SEEN_OPS      24
#define MOST_OPS      128
#define LEAST_OPS     4
#define WHOLE_PAIRS   8
#define LEAST_WINDOWS 5
#define CYCLES	      1000
#define MOST_INSNS    10000000

/*
 * Pairs of windows that are not kept, by which it is found how many ticks others are seen through;
 * FEW of them where nothing is left to be done.
 */
#define WARM_UPS    5
#define FEW	    3
#define FIRST_TICKS 6
#define MORE_TICKS  1
#define MOST_TRIES  8
#define SKIPS	    5

/* Units of the counter. */
struct whole_round {
	unsigned int ops;
	bool brief;
	bool unseen;
	uint64_t loop;			 /* what the loop itself takes in user space */
	uint64_t bulk;			 /* from the first cycle to the last */
	unsigned int ticks;		 /* that fell into it */
	unsigned int settled;		 /* ticks after it */
	uint64_t taken[1 + WHOLE_TICKS]; /* by writing back, then by each of these ticks */
};

struct whole {
	bool begun;
	bool finished;
	unsigned int region; /* of its windows (plugin/markers.h) */
	bool chosen;	     /* ops and ticks */
	unsigned int ops;    /* of a window */
	unsigned int ticks;  /* that each window is seen through */
	unsigned int rounds;
	int error;	  /* errno of a call that failed; 0 when it succeeded wrongly */
	char detail[160]; /* why there is no whole cost; empty when there is */
	struct whole_round round[WHOLE_ROUNDS];
};

/*
 * Measure in the current directory, after the readings of the benchmark. There are more rounds, up
 * to twice as many, until the standard error of a cycle's mean is at most request->whole_ppm of it
 * (or one instruction).
 */
void whole_measure(struct bench *bench, const struct request *request, struct whole *whole);

#endif
