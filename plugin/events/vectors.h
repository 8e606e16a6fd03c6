/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events of every sample of a region, in order; bounded whatever the guest does. */
#ifndef LSMETER_EVENTS_VECTORS_H
#define LSMETER_EVENTS_VECTORS_H

#include "kinds.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define MAX_VECTORS	4096	  /* of one region; later samples are only counted */
#define MAX_ALL_VECTORS (1 << 20) /* of all regions; 132 MiB */

struct vector {
	bool whole; /* nothing of it found no room */
	uint32_t counts[EVENTS];
};

struct vectors {
	struct vector *list;
	uint32_t count;
	uint32_t room;
	uint64_t more;
};

/* Begin the output: "lsmeter-events 1", and the names of the events. NULL: it cannot be written. */
FILE *vectors_create(const char *path);

/* Add a sample: the sum of the counts of its functions. */
void vectors_add(struct vectors *vectors, uint32_t (*rows)[EVENTS], uint32_t count, bool whole);

/* Write those of a region: a line for each sample. */
void vectors_write(const struct vectors *vectors, uint32_t region, FILE *out);

#endif
