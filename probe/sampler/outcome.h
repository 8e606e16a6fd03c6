/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What workers leave for their parent, in shared memory, and how it is sent.
 */
#ifndef LSMETER_SAMPLER_OUTCOME_H
#define LSMETER_SAMPLER_OUTCOME_H

#include "observe/count.h"
#include "protocol/request.h"
#include "sampler/timing.h"
#include "sampler/whole.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct outcome {
	bool sampled; /* the readings are all there */
	bool finished;
	bool skipped;
	bool ended; /* before the deadline, with `status` of wait(2); its parent writes that */
	int status;
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

/* One of each copy. */
struct outcomes {
	char *memory;
	size_t size; /* of one */
	unsigned int copies;
};

/* Touched here: no worker is to pay for its pages. False: no memory, which is sent. */
bool outcomes_make(const struct request *request, const struct hook_counts *counts,
		   struct outcomes *outcomes);

struct outcome *outcome_of(const struct outcomes *outcomes, unsigned int place);

/* Make them as they were, for the benchmark of this index. */
void outcomes_renew(const struct outcomes *outcomes, unsigned int index);

/*
 * Make one of all copies, in place of the first: the readings are theirs by turns, as many as one
 * has. What went wrong in any of them went wrong.
 */
void outcomes_join(const struct outcomes *outcomes);

/* Send what there is of a benchmark whose time was up after deadline_ms. */
void outcome_send(const struct request *request, const struct hook_counts *counts,
		  const struct outcome *outcome, unsigned long deadline_ms);

#endif
