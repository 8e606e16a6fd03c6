/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Taking the readings of one benchmark, in the process that calls.
 */
#ifndef LSMETER_SAMPLER_SAMPLE_H
#define LSMETER_SAMPLER_SAMPLE_H

#include "ops/bench.h"
#include "protocol/request.h"
#include "sampler/assistant.h"
#include "sampler/copies.h"
#include "sampler/moment.h"
#include "sampler/outcome.h"
#include "sampler/scheduling.h"

/* The readings of one benchmark. */
struct sampling {
	struct bench *bench;
	const struct request *request;
	struct assistant assistant;
	const struct scheduling *scheduling;
	struct hook_counts *counts;
	struct copies copies;
	struct outcome *outcome;

	/* For sample.c. */
	struct moment moment;
	uint64_t last;	/* reading */
	uint64_t least; /* the shortest reading so far, in ticks */
};

/* Run a benchmark in the current directory, which must be empty. */
void sample(struct sampling *sampling);

#endif
