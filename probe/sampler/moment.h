/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The moment at which a reading begins: what was left is done, and nothing comes in between.
 */
#ifndef LSMETER_SAMPLER_MOMENT_H
#define LSMETER_SAMPLER_MOMENT_H

#include "sampler/periods.h"

#include <stdbool.h>
#include <stdint.h>

struct moment {
	/* Ticks are told by the counter, which under emulation counts nanoseconds. */
	bool by_counter;
	/* Begin just after a period of the scheduler's averages: processes take part. */
	bool by_period;
	/* Sleep before each reading, so that what others left to the background is done. */
	bool rests;
	/* Begin with a microsecond of the kernel's clock, of which protocols count whole ones. */
	bool by_microsecond;

	/* For moment.c. */
	bool begun;
	uint64_t rounds_took; /* so many rounds of run_rounds(), by the counter */
	struct periods periods;
};

/* Say what the readings to come wait for. */
void moment_open(struct moment *moment);

/*
 * Wait until no timer tick is near: what a tick sets off is to be over, and a reading that takes
 * as long as the one before, and a bit more, is to end before the next one.
 */
void moment_await(struct moment *moment, uint64_t last_ns);

/* How many ticks there have been, from whenever. */
uint64_t moment_ticks(const struct moment *moment);

#endif
