// SPDX-License-Identifier: GPL-2.0-or-later
#include "calltree.h"

#include <stdlib.h>
#include <string.h>

bool calltree_init(struct calltree *tree, bool events)
{
	tree->nodes = calloc(MAX_NODES, sizeof(*tree->nodes));
	tree->events = events ? calloc(MAX_NODES, sizeof(*tree->events)) : NULL;
	if (!tree->nodes || (events && !tree->events))
		return false;
	calltree_reset(tree);
	return true;
}

void calltree_reset(struct calltree *tree)
{
	static const char *const names[NODE_FIXED] = {"[region]", "[user]", "[interrupt]",
						      "[resumed]"};

	tree->overflow = false;
	for (uint32_t i = 0; i < NODE_FIXED; i++) {
		tree->nodes[i] = (struct node){
			.name = names[i],
			.parent = i == NODE_ROOT ? NO_NODE : NODE_ROOT,
			.child = NO_NODE,
			.sibling = NO_NODE,
		};
		if (i == NODE_ROOT)
			continue;
		tree->nodes[i].sibling = tree->nodes[NODE_ROOT].child;
		tree->nodes[NODE_ROOT].child = i;
	}
	tree->count = NODE_FIXED;
	if (tree->events)
		memset(tree->events, 0, NODE_FIXED * sizeof(*tree->events));
}

static void move_to_front(struct node *nodes, uint32_t parent, uint32_t previous, uint32_t node)
{
	nodes[previous].sibling = nodes[node].sibling;
	nodes[node].sibling = nodes[parent].child;
	nodes[parent].child = node;
}

uint32_t calltree_child(struct calltree *tree, uint32_t parent, const char *name)
{
	struct node *nodes = tree->nodes;
	uint32_t previous = NO_NODE, node;

	for (node = nodes[parent].child; node != NO_NODE; node = nodes[node].sibling) {
		if (nodes[node].name == name) {
			if (previous != NO_NODE)
				move_to_front(nodes, parent, previous, node);
			return node;
		}
		previous = node;
	}
	if (tree->count == MAX_NODES) {
		tree->overflow = true;
		return parent;
	}
	node = tree->count++;
	nodes[node] = (struct node){
		.name = name,
		.parent = parent,
		.child = NO_NODE,
		.sibling = nodes[parent].child,
	};
	nodes[parent].child = node;
	if (tree->events)
		memset(tree->events[node], 0, sizeof(*tree->events));
	return node;
}

int64_t calltree_total(const struct calltree *tree)
{
	int64_t total = 0;

	for (uint32_t i = 0; i < tree->count; i++)
		total += tree->nodes[i].self_insns;
	return total;
}
