/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Taking the readings of one benchmark, in the process that calls.
 */
#ifndef LSMETER_SAMPLE_H
#define LSMETER_SAMPLE_H

#include "bench.h"
#include "request.h"
#include "timing.h"
#include "whole.h"

/* What a worker leaves for its parent, in shared memory. */
struct outcome {
	bool sampled; /* the readings are all there */
	bool finished;
	bool skipped;
	unsigned int failures; /* calls that did not return what they must, warm-up included */
	int error;	       /* errno of the first one; 0 when it succeeded wrongly */
	char detail[160];
	unsigned int index;  /* of the benchmark */
	unsigned int passes; /* of the turn, so far */
	struct whole whole;
	struct timing timing;
	size_t ticked; /* how many of the readings hold a timer tick */
	size_t count;
	uint32_t *ticked_at; /* which ones */
	uint32_t *calls;     /* with count=1: one row for each value, one column for each hook */
	uint64_t value[];
};

/* What another process does for a reading, because the worker may not; each gives 0 or -errno. */
struct assistant {
	int (*drop_caches)(void); /* before a reading that is to be cold */
	int (*prepare)(void);	  /* the request's steps before each reading */
};

/* Run a benchmark in the current directory, which must be empty. */
void sample(struct bench *bench, const struct request *request, const struct assistant *assistant,
	    struct outcome *outcome);

#endif
