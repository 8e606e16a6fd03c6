/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs benchmarks one after the other, each in a process of its own, and sends what they gave.
 */
#ifndef LSMETER_SAMPLER_WORKER_H
#define LSMETER_SAMPLER_WORKER_H

#include "observe/count.h"
#include "policy/delay.h"
#include "protocol/request.h"
#include "sampler/scheduling.h"

/* What benchmarks are run with. */
struct session {
	const struct request *request;
	const char *work;
	struct scheduling scheduling;
	struct hook_counts *counts; /* NULL: the request has no count */
	struct delay *delay; /* of access checks, which a sweep sets; NULL: there is no sweep */
};

/*
 * Run all of the request's benchmarks (all values of its sweep) in directories of their own
 * beneath `work`, with results sent to the channel. Returns how many were begun.
 */
unsigned int worker_run_all(const struct session *session);

/* The same, with the clock opened before and closed after where readings are time. */
unsigned int worker_run_timed(const struct session *session);

/* Let what may differ between boots do so, as the request's seed says, and hold what is not to. */
void worker_perturb(const struct request *request, const char *work);

#endif
