/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The call tree of one sample: which function ran below which, how often, how many instructions. */
#ifndef LSMETER_CALLTREE_H
#define LSMETER_CALLTREE_H

#include "events/kinds.h"

#include <stdbool.h>
#include <stdint.h>

#define MAX_NODES 262144 /* of one sample; 8 MiB */
#define NO_NODE	  UINT32_MAX

/* Roots of the tree that are no symbols; their numbers are fixed, in every tree. */
enum {
	NODE_ROOT,	/* never charged */
	NODE_USER,	/* user space between the markers */
	NODE_INTERRUPT, /* parent of everything asynchronous */
	NODE_RESUMED,	/* a task that was already inside the kernel, its callers unknown */
	NODE_FIXED,
};

struct node {
	const char *name;
	uint32_t parent;
	uint32_t child; /* most recently used first */
	uint32_t sibling;
	uint32_t calls;
	int64_t self_insns;
};

struct calltree {
	struct node *nodes;
	uint32_t (*events)[EVENTS]; /* of each node; NULL where none are counted */
	uint32_t count;
	bool overflow;
};

/* Returns false when there is no memory. */
bool calltree_init(struct calltree *tree, bool events);

/* Empty the tree but for its fixed nodes. */
void calltree_reset(struct calltree *tree);

/* The child of parent with this name (compared by address), made when there is none. */
uint32_t calltree_child(struct calltree *tree, uint32_t parent, const char *name);

/* Sum of the instructions of all nodes. */
int64_t calltree_total(const struct calltree *tree);

#endif
