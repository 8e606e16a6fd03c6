/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is kept of the samples of each region: how often each total occurred, and the call trees of
 * the most frequent totals. Memory is bounded whatever the guest does.
 */
#ifndef LSMETER_REGIONS_H
#define LSMETER_REGIONS_H

#include "calltree.h"
#include "events/vectors.h"

#include <stdint.h>
#include <stdio.h>

#define MAX_REGIONS 4096
#define MAX_TOTALS  4096 /* distinct totals counted per region; later ones are counted together */
#define KEPT_TREES  6	 /* of each region: of its most frequent totals */
#define MAX_KEPT_BYTES (384 << 20) /* in all trees of all regions */

/* A tree without what only building it needs. */
struct kept_node {
	const char *name;
	uint32_t parent;
	uint32_t calls;
	int64_t self_insns;
};

struct kept_tree {
	struct kept_node *nodes;    /* NULL: not in use */
	uint32_t (*events)[EVENTS]; /* of each node; NULL where none were counted */
	uint32_t count;
	uint32_t total_index;
};

struct total {
	int64_t insns;
	uint64_t samples;
};

/* The samples of one region as a single tree. */
struct sum {
	struct kept_tree tree;
	int64_t insns;
	uint64_t samples;
};

struct region {
	uint32_t id;
	uint64_t samples; /* whole ones; the sum over totals, and other */
	uint64_t other;	  /* samples whose total found no room */
	uint64_t damaged; /* samples in which a limit of the shadow stack or the tree was hit */
	uint64_t aborted; /* begun, but not ended by their own marker */
	uint64_t written; /* samples at the time of the last writing */
	uint32_t totals_count;
	struct total *totals;
	struct kept_tree trees[KEPT_TREES];
	struct sum sum; /* of a summed region, in place of trees */
	struct vectors vectors;
};

struct regions {
	struct region *list;
	uint32_t count;
	uint64_t refused; /* samples of regions beyond MAX_REGIONS, or without memory for them */
};

/* The region with this id, made when there is none; NULL when there is no room. */
struct region *regions_get(struct regions *regions, uint32_t id);

/* Add a whole sample. With events, the tree of a total is that of its latest sample. */
void region_add(struct region *region, const struct calltree *tree);

/* Add a sample to the sum of the region; its tree then has all of them. */
void region_sum(struct region *region, struct calltree *tree);

/* Write the region: all totals with their counts, and the trees of the most frequent ones. */
void region_write(struct region *region, FILE *out);

#endif
