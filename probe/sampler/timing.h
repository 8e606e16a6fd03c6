/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readings in time: by the processor's counter where that is steady, else by the kernel's clock
 * (CLOCK_MONOTONIC_RAW). Nothing is subtracted from a reading, and none is left out.
 */
#ifndef LSMETER_SAMPLER_TIMING_H
#define LSMETER_SAMPLER_TIMING_H

#include "ops/bench.h"

#include <stdbool.h>
#include <stdint.h>

#define MAX_BATCH 1000

/* What went with the readings of one benchmark. */
struct timing {
	unsigned int batch;	 /* operations in each reading */
	unsigned int counted;	 /* readings that are no warm-up */
	unsigned int moved;	 /* readings that ended on another CPU than they began on */
	unsigned long preempted; /* times that another task took the CPU */
	/* What was spun on purpose at the end of readings: ticks in all, and the least and most. */
	uint64_t spun, least_spun, most_spun;
};

/* A known cost, for the selftest: at the end of every so many readings that count. */
struct spin_shape {
	unsigned long ns;    /* 0: none */
	unsigned long every; /* 1: of each reading */
};

/* Stay on one CPU, choose the clock, learn its rate and its step, and send that as facts. */
void timing_open(const struct spin_shape *shape);

/* How many CPUs this process may use. */
unsigned int timing_cpus(void);

/*
 * Stay on one of them, from the last one backwards: the first has most of the interrupts. Returns
 * its number, or -1 with errno.
 */
int timing_stay(unsigned int place);

/* A moment in ticks of the clock. */
uint64_t timing_now(void);

/* Time the measured calls of the cycle, as often as a reading repeats them; ticks of the clock.
 * counts: it is no warm-up. */
uint64_t timing_measure(struct bench *bench, struct timing *timing, bool counts);

/* How often to repeat an operation whose single reading takes so long, so that the clock's steps
 * do not show; 1 for what cannot be repeated without preparing it again. `wanted` says it for the
 * clock, as one of another speed would; 0: ask the clock. */
unsigned int timing_batch(const struct bench *bench, uint64_t least, unsigned long wanted);

/* Send what is known of a benchmark's readings, where it is not what one expects. */
void timing_send(const char *id, const struct timing *timing, unsigned int readings);

/* Send what came of the clock over the life of this process. */
void timing_close(void);

#endif
