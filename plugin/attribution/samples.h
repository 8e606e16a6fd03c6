/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples between markers, and the regions that they are added to. */
#ifndef LSMETER_SAMPLES_H
#define LSMETER_SAMPLES_H

#include "regions.h"
#include "shadow.h"

#include <stdio.h>

#define NO_REGION UINT32_MAX

struct samples {
	uint32_t announced; /* by nibbles; what region 0 means, NO_REGION before the first */
	uint32_t region;    /* of the sample that is open, or NO_REGION */
	uint32_t last_region;
	uint64_t stray; /* end markers without their beginning */
	struct regions regions;
	struct shadow shadow;
	FILE *out;
	struct events *events; /* NULL where none are counted */
	FILE *events_out;
};

#define SAMPLES_NONE {.announced = NO_REGION, .region = NO_REGION, .last_region = NO_REGION}

/* Take a marker's payload, and return the region that it means, or NO_REGION. */
uint32_t samples_region(struct samples *samples, uint32_t marker);

/* Begin a sample of this region, in user space, at this count of instructions. */
void samples_begin(struct samples *samples, uint32_t id, uint64_t now);

/* End it, and add it to its region. */
void samples_end(struct samples *samples, uint32_t id, uint64_t now);

/* Write what is not written yet, and how much was passed over. */
void samples_finish(struct samples *samples);

#endif
