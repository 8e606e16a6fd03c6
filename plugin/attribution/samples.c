// SPDX-License-Identifier: GPL-2.0-or-later
#include "samples.h"

#include "events/vectors.h"
#include "markers.h"

#include <inttypes.h>

uint32_t samples_region(struct samples *samples, uint32_t marker)
{
	uint32_t id = marker & MARKER_PAYLOAD;

	if ((marker & (MARKER_MASK | MARKER_KIND)) == MARKER_NIBBLE)
		samples->announced = (samples->announced << 4 | (id & 15)) & 0xffff;
	else if (!id)
		id = samples->announced;
	return id;
}

static void write_region(struct samples *samples, struct region *region)
{
	region_write(region, samples->out);
	if (samples->events && region->id < REGION_WHOLE)
		vectors_write(&region->vectors, region->id, samples->events_out);
}

/* Write a region that others follow, unless it has hardly grown since it was written. */
static void write_finished(struct samples *samples, uint32_t next)
{
	struct region *region;

	if (samples->last_region == next || samples->last_region == NO_REGION)
		return;
	region = regions_get(&samples->regions, samples->last_region);
	if (region && region->samples > 2 * region->written)
		write_region(samples, region);
}

/* Count a sample that was begun and not ended. */
static void abort_open(struct samples *samples)
{
	struct region *open = NULL;

	if (samples->region != NO_REGION)
		open = regions_get(&samples->regions, samples->region);
	if (open)
		open->aborted++;
}

void samples_begin(struct samples *samples, uint32_t id, uint64_t now)
{
	abort_open(samples);
	write_finished(samples, id);
	samples->last_region = id;
	samples->region = id;
	shadow_begin(&samples->shadow, now);
	/* Windows of whole costs are long, and what is distinct in them says little. */
	if (samples->events && id < REGION_WHOLE)
		events_begin(samples->events, id, now);
}

static void add(struct region *region, struct calltree *tree)
{
	/* Of whole costs samples are summed: no two of them are alike, and all of them count. */
	if (region->id < REGION_WHOLE)
		region_add(region, tree);
	else
		region_sum(region, tree);
}

void samples_end(struct samples *samples, uint32_t id, uint64_t now)
{
	struct calltree *tree = &samples->shadow.tree;
	struct region *region;

	if (samples->region != id) {
		samples->stray++;
		return;
	}
	shadow_end(&samples->shadow, now);
	samples->region = NO_REGION;
	region = regions_get(&samples->regions, id);
	if (region && samples->events && id < REGION_WHOLE)
		vectors_add(&region->vectors, tree->events, tree->count,
			    events_end(samples->events) && !samples->shadow.damaged);
	if (!region)
		samples->regions.refused++;
	else if (!samples->shadow.damaged)
		add(region, tree);
	else
		region->damaged++;
}

void samples_finish(struct samples *samples)
{
	abort_open(samples);
	for (uint32_t i = 0; i < samples->regions.count; i++) {
		struct region *region = &samples->regions.list[i];

		if (region->samples > region->written || !region->samples)
			write_region(samples, region);
	}
	fprintf(samples->out, "stray %" PRIu64 "\nrefused %" PRIu64 "\n", samples->stray,
		samples->regions.refused);
}
