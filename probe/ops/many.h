/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mkdir and rmdir over many distinct directories: the study's variant works in one directory
 * that holds up to 9,437 others; the depth series works in an empty one.
 */
#ifndef LSMETER_OPS_MANY_H
#define LSMETER_OPS_MANY_H

#include "arch/sys.h"
#include "ops/depths.h"

#include <stdio.h>

#define STUDY_DIRS 9437

/* The study's variant has no depth series of its own: its path has one component. */
#define MANY_VARIANT(VERB) \
	{.params = "dirs=9437", \
	 .origin = ORIGIN_STUDY, \
	 .title = VERB " among 9,437 directories", \
	 .value = 1, \
	 .populous = true}

static inline struct call mkdir_of(struct bench *bench)
{
	return (struct call){CALLS(AS_MKDIR(bench->path[0], 0755))};
}

static inline struct call rmdir_of(struct bench *bench)
{
	return (struct call){CALLS(AS_RMDIR(bench->path[0]))};
}

static inline int many_setup(struct bench *bench)
{
	char name[16];
	int error = 0;

	if (!bench->variant->populous)
		return depth_setup(bench);
	for (unsigned int i = 0; i < STUDY_DIRS && !error; i++) {
		snprintf(name, sizeof(name), "d%06u", i);
		error = sys_mkdir(name, 0755);
	}
	return error;
}

/* What is left behind would lengthen the kernel's hash chains for the benchmarks that follow. */
static inline int many_teardown(struct bench *bench)
{
	char name[16];
	int error = 0;

	for (unsigned int i = 0; bench->variant->populous && i < STUDY_DIRS && !error; i++) {
		snprintf(name, sizeof(name), "d%06u", i);
		error = sys_rmdir(name);
	}
	return error;
}

#endif
