/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Depth series: value is the number of components of the path. VERB begins the title.
 */
#ifndef LSMETER_OPS_DEPTHS_H
#define LSMETER_OPS_DEPTHS_H

#include "arch/sys.h"
#include "ops/tree.h"

#define DEPTH_VARIANT(depth, from, text) \
	{.params = "depth=" #depth, .origin = from, .title = text, .value = depth}

/* Depths 1 to 5, as the study has them. */
#define STUDY_DEPTHS(VERB) \
	DEPTH_VARIANT(1, ORIGIN_STUDY, VERB " by 1 component"), \
		DEPTH_VARIANT(2, ORIGIN_STUDY, VERB " by 2 components"), \
		DEPTH_VARIANT(3, ORIGIN_STUDY, VERB " by 3 components"), \
		DEPTH_VARIANT(4, ORIGIN_STUDY, VERB " by 4 components"), \
		DEPTH_VARIANT(5, ORIGIN_STUDY, VERB " by 5 components")

/* The study has depth 1 only; 2 and 4 show what a component more costs. */
#define NEW_NAME_DEPTHS(FIRST_ORIGIN, VERB) \
	DEPTH_VARIANT(1, FIRST_ORIGIN, VERB " by 1 component"), \
		DEPTH_VARIANT(2, ORIGIN_OWN, VERB " by 2 components"), \
		DEPTH_VARIANT(4, ORIGIN_OWN, VERB " by 4 components")

/* Calls on the path in this slot that belong to a cycle. */
static inline struct call unlink_of(struct bench *bench, unsigned int slot)
{
	return (struct call){CALLS(AS_UNLINK(bench->path[slot]))};
}

static inline struct call make_file(struct bench *bench, unsigned int slot)
{
	return (struct call){
		CALLS(AS_OPEN(bench->path[slot], O_CREAT | O_EXCL | O_WRONLY, 0644)),
		.expect = EXPECT_FD,
	};
}

/* Directories down to the variant's depth, with nothing in them. */
static inline int depth_setup(struct bench *bench)
{
	return tree_make_dirs(bench->variant->value);
}

#endif
