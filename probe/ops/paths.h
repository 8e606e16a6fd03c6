/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The paths that open and stat share: the study's depths 1 to 8, links and missing directory
 * (Table 3), and its two paths through `..` (Table 6). VERB begins the title.
 */
#ifndef LSMETER_OPS_PATHS_H
#define LSMETER_OPS_PATHS_H

#include "ops/tree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PATH_VARIANT(parameters, where, text, expected) \
	{.params = parameters, \
	 .origin = ORIGIN_STUDY, \
	 .title = text, \
	 .path = where, \
	 .value = expected}

#define STUDY_PATHS(VERB) \
	PATH_VARIANT("depth=1", PATH_1, VERB " a file by 1 component", 0), \
		PATH_VARIANT("depth=2", PATH_2, VERB " a file by 2 components", 0), \
		PATH_VARIANT("depth=3", PATH_3, VERB " a file by 3 components", 0), \
		PATH_VARIANT("depth=4", PATH_4, VERB " a file by 4 components", 0), \
		PATH_VARIANT("depth=5", PATH_5, VERB " a file by 5 components", 0), \
		PATH_VARIANT("depth=6", PATH_6, VERB " a file by 6 components", 0), \
		PATH_VARIANT("depth=7", PATH_7, VERB " a file by 7 components", 0), \
		PATH_VARIANT("depth=8", PATH_8, VERB " a file by 8 components", 0), \
		PATH_VARIANT("link=hard", PATH_HARD, VERB " a file by a hard link", 0), \
		PATH_VARIANT("link=soft", PATH_SOFT, VERB " a file by a symbolic link", 0), \
		PATH_VARIANT("target=missing", PATH_MISSING, VERB " in a missing directory", \
			     -ENOENT), \
		PATH_VARIANT("path=dotdot-3", PATH_DOTDOT_3, VERB " AA/../HH", 0), \
		PATH_VARIANT("path=dotdot-9", PATH_DOTDOT_9, VERB " XX/YY/../../AA/BB/../../HH", \
			     0)

/* A file beside the tree: dentries hold names of 31 or 39 bytes themselves, longer ones apart. */
#define NAME_VARIANT(length, where, text) \
	{.params = "name=" #length, .origin = ORIGIN_OWN, .title = text, .path = where}

#define NAMES(VERB) \
	NAME_VARIANT(8, NAME_8, VERB " a file with a name of 8 characters"), \
		NAME_VARIANT(24, NAME_24, VERB " a file with a name of 24 characters"), \
		NAME_VARIANT(60, NAME_60, VERB " a file with a name of 60 characters")

/* The *at calls: the study has the path of two components; the `..` paths are ours. */
#define AT_PATHS(VERB) \
	PATH_VARIANT("depth=2", PATH_2, VERB " a file by 2 components", 0), \
		{.params = "path=dotdot-3", \
		 .origin = ORIGIN_OWN, \
		 .title = VERB " AA/../HH", \
		 .path = PATH_DOTDOT_3}, \
	{ \
		.params = "path=dotdot-9", .origin = ORIGIN_OWN, \
		.title = VERB " XX/YY/../../AA/BB/../../HH", .path = PATH_DOTDOT_9 \
	}

/* The variant's path, in the memory of the benchmark, whose place varies from boot to boot. */
static inline const char *path_copy(struct bench *bench)
{
	snprintf(bench->path[0], sizeof(bench->path[0]), "%s", bench->variant->path);
	return bench->path[0];
}

static inline int tree_setup(struct bench *bench)
{
	const struct variant *variant = bench->variant;
	int error = tree_make();

	return error || strncmp(variant->params, "name=", 5) ? error : tree_touch(variant->path);
}

#endif
