// SPDX-License-Identifier: GPL-2.0-or-later
#include "regions.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
 * Where to keep the tree of a total: nowhere when it is kept already, unless the latest one is
 * wanted; else in place of the least frequent one, if this total is at least as frequent. The last
 * sample of the most frequent total always is, so its tree is kept in the end.
 */
static struct kept_tree *place_for(struct region *region, uint32_t index, bool latest)
{
	struct kept_tree *least = &region->trees[0];

	for (int i = 0; i < KEPT_TREES; i++) {
		struct kept_tree *tree = &region->trees[i];

		if (!tree->nodes)
			return tree;
		if (tree->total_index == index)
			return latest ? tree : NULL;
		if (region->totals[tree->total_index].samples <
		    region->totals[least->total_index].samples)
			least = tree;
	}
	if (region->totals[index].samples < region->totals[least->total_index].samples)
		return NULL;
	return least;
}

static void forget(struct kept_tree *kept)
{
	free(kept->nodes);
	free(kept->events);
	*kept = (struct kept_tree){0};
}

static size_t bytes_of(size_t nodes, bool events)
{
	return nodes * (sizeof(struct kept_node) + events * sizeof(uint32_t[EVENTS]));
}

static bool keep(struct kept_tree *kept, uint32_t index, const struct calltree *tree, bool events)
{
	static uint64_t kept_bytes; /* of all regions */
	uint64_t others = kept_bytes - bytes_of(kept->nodes ? kept->count : 0, kept->events);
	struct kept_node *nodes;
	uint32_t (*rows)[EVENTS] = NULL;

	if (others + bytes_of(tree->count, events) > MAX_KEPT_BYTES)
		return false;
	nodes = malloc(tree->count * sizeof(*nodes));
	if (events)
		rows = malloc(tree->count * sizeof(*rows));
	if (!nodes || (events && !rows)) {
		free(nodes);
		free(rows);
		return false;
	}
	kept_bytes = others + bytes_of(tree->count, events);
	for (uint32_t i = 0; i < tree->count; i++)
		nodes[i] = (struct kept_node){
			.name = tree->nodes[i].name,
			.parent = tree->nodes[i].parent,
			.calls = tree->nodes[i].calls,
			.self_insns = tree->nodes[i].self_insns,
		};
	if (events)
		memcpy(rows, tree->events, tree->count * sizeof(*rows));
	forget(kept);
	*kept = (struct kept_tree){nodes, rows, tree->count, index};
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
	bool events = tree->events;
	struct kept_tree *place = index < MAX_TOTALS ? place_for(region, index, events) : NULL;

	if (place && !keep(place, index, tree, events))
		region->damaged++;
}

/* Add what was kept to the tree of a sample; false: there is no room. */
static bool add_kept(struct calltree *tree, const struct kept_tree *kept)
{
	uint32_t *place = malloc((kept->count + 1) * sizeof(*place));

	if (!place)
		return false;
	for (uint32_t i = 0; i < kept->count; i++) {
		const struct kept_node *node = &kept->nodes[i];

		place[i] =
			i < NODE_FIXED ? i : calltree_child(tree, place[node->parent], node->name);
		tree->nodes[place[i]].calls += node->calls;
		tree->nodes[place[i]].self_insns += node->self_insns;
	}
	free(place);
	return !tree->overflow;
}

void region_sum(struct region *region, struct calltree *tree)
{
	int64_t insns = calltree_total(tree);
	struct sum *sum = &region->sum;

	count_sample(region, insns);
	sum->samples++;
	sum->insns += insns;
	if (add_kept(tree, &sum->tree) && keep(&sum->tree, 0, tree, false))
		return;
	region->damaged++;
}

/* Only those that occurred. */
static void write_events(const uint32_t *counts, FILE *out)
{
	fputc('e', out);
	for (int event = 0; event < EVENTS; event++)
		if (counts[event])
			fprintf(out, " %d:%" PRIu32, event, counts[event]);
	fputc('\n', out);
}

static void write_nodes(const struct kept_tree *tree, FILE *out)
{
	for (uint32_t i = 1; i < tree->count; i++) {
		const struct kept_node *node = &tree->nodes[i];

		fprintf(out, "n %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRId64 " %s\n", i,
			node->parent, node->calls, node->self_insns, node->name);
		if (tree->events)
			write_events(tree->events[i], out);
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
