// SPDX-License-Identifier: GPL-2.0-or-later
#include "regions.h"

#include <inttypes.h>
#include <stdlib.h>

struct region *regions_get(struct regions *regions, uint32_t id)
{
	struct region *region;

	for (uint32_t i = 0; i < regions->count; i++)
		if (regions->list[i].id == id)
			return &regions->list[i];
	if (!regions->list)
		regions->list = calloc(MAX_REGIONS, sizeof(*regions->list));
	if (!regions->list || regions->count == MAX_REGIONS)
		return NULL;
	region = &regions->list[regions->count];
	region->id = id;
	region->totals = calloc(MAX_TOTALS, sizeof(*region->totals));
	if (!region->totals)
		return NULL;
	regions->count++;
	return region;
}

/* Index of this total, MAX_TOTALS when there is no room. */
static uint32_t total_index(struct region *region, int64_t insns)
{
	uint32_t i;

	for (i = 0; i < region->totals_count; i++)
		if (region->totals[i].insns == insns)
			return i;
	if (i < MAX_TOTALS)
		region->totals[region->totals_count++].insns = insns;
	return i;
}

/*
 * Where to keep the tree of a total: nowhere when it is kept already; else in place of the least
 * frequent one, if this total is at least as frequent. The last sample of the most frequent total
 * always is, so its tree is kept in the end.
 */
static struct kept_tree *place_for(struct region *region, uint32_t index)
{
	struct kept_tree *least = &region->trees[0];

	for (int i = 0; i < KEPT_TREES; i++) {
		struct kept_tree *tree = &region->trees[i];

		if (!tree->nodes)
			return tree;
		if (tree->total_index == index)
			return NULL;
		if (region->totals[tree->total_index].samples <
		    region->totals[least->total_index].samples)
			least = tree;
	}
	if (region->totals[index].samples < region->totals[least->total_index].samples)
		return NULL;
	return least;
}

static bool keep(struct kept_tree *kept, uint32_t index, const struct calltree *tree)
{
	static uint64_t kept_nodes; /* of all regions */
	uint64_t others = kept_nodes - (kept->nodes ? kept->count : 0);
	struct kept_node *nodes;

	if (others + tree->count > MAX_KEPT_NODES)
		return false;
	nodes = malloc(tree->count * sizeof(*nodes));
	if (!nodes)
		return false;
	kept_nodes = others + tree->count;
	for (uint32_t i = 0; i < tree->count; i++)
		nodes[i] = (struct kept_node){
			.name = tree->nodes[i].name,
			.parent = tree->nodes[i].parent,
			.calls = tree->nodes[i].calls,
			.self_insns = tree->nodes[i].self_insns,
		};
	free(kept->nodes);
	*kept = (struct kept_tree){.nodes = nodes, .count = tree->count, .total_index = index};
	return true;
}

/* Count a sample; the index of its total, MAX_TOTALS when there is no room. */
static uint32_t count_sample(struct region *region, int64_t insns)
{
	uint32_t index = total_index(region, insns);

	region->samples++;
	if (index == MAX_TOTALS)
		region->other++;
	else
		region->totals[index].samples++;
	return index;
}

void region_add(struct region *region, const struct calltree *tree)
{
	uint32_t index = count_sample(region, calltree_total(tree));
	struct kept_tree *place = index < MAX_TOTALS ? place_for(region, index) : NULL;

	if (place && !keep(place, index, tree))
		region->damaged++;
}

void region_sum(struct region *region, const struct calltree *tree, bool first)
{
	int64_t insns = calltree_total(tree);
	struct sum *sum = &region->sum;

	count_sample(region, first ? insns : insns - sum->insns);
	sum->samples = first ? 1 : sum->samples + 1;
	sum->insns = insns;
	if (keep(&sum->tree, 0, tree))
		return;
	region->damaged++;
	free(sum->tree.nodes);
	sum->tree.nodes = NULL;
}

static void write_nodes(const struct kept_tree *tree, FILE *out)
{
	for (uint32_t i = 1; i < tree->count; i++) {
		const struct kept_node *node = &tree->nodes[i];

		fprintf(out, "n %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRId64 " %s\n", i,
			node->parent, node->calls, node->self_insns, node->name);
	}
}

void region_write(struct region *region, FILE *out)
{
	fprintf(out, "region %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		region->id, region->samples, region->other, region->damaged, region->aborted);
	for (uint32_t i = 0; i < region->totals_count; i++)
		fprintf(out, "t %" PRId64 " %" PRIu64 "\n", region->totals[i].insns,
			region->totals[i].samples);
	for (int i = 0; i < KEPT_TREES; i++) {
		const struct kept_tree *tree = &region->trees[i];

		if (!tree->nodes)
			continue;
		fprintf(out, "tree %" PRId64 "\n", region->totals[tree->total_index].insns);
		write_nodes(tree, out);
	}
	if (region->sum.tree.nodes) {
		fprintf(out, "sum %" PRId64 " %" PRIu64 "\n", region->sum.insns,
			region->sum.samples);
		write_nodes(&region->sum.tree, out);
	}
	fprintf(out, "end %" PRIu32 "\n", region->id);
	fflush(out);
	region->written = region->samples;
}
