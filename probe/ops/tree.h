/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The directories and files that path operations work on, made in the current directory.
 *
 * Every component is two letters long: directories AA/BB/CC/DD/EE/FF/GG one inside the other,
 * and the file HH beside each of them. A path of depth d has d components and ends in a file.
 */
#ifndef LSMETER_OPS_TREE_H
#define LSMETER_OPS_TREE_H

#include "ops/bench.h"

#define MAX_DEPTH 8

#define PATH_1	      "HH"
#define PATH_2	      "AA/HH"
#define PATH_3	      "AA/BB/HH"
#define PATH_4	      "AA/BB/CC/HH"
#define PATH_5	      "AA/BB/CC/DD/HH"
#define PATH_6	      "AA/BB/CC/DD/EE/HH"
#define PATH_7	      "AA/BB/CC/DD/EE/FF/HH"
#define PATH_8	      "AA/BB/CC/DD/EE/FF/GG/HH"
#define PATH_HARD     "LL"    /* a second name of HH */
#define PATH_SOFT     "SS"    /* a symbolic link to HH */
#define PATH_MISSING  "MM/HH" /* there is no MM */
#define NAME_8	      "namename"
#define NAME_24	      NAME_8 NAME_8 NAME_8
#define NAME_60	      NAME_24 NAME_24 NAME_8 "name"
#define PATH_DOTDOT_3 "AA/../HH"
#define PATH_DOTDOT_9 "XX/YY/../../AA/BB/../../HH"

/* Make the whole tree, files empty. Returns 0 or -errno. */
int tree_make(void);

/* Make only the directories down to the given depth (depth - 1 of them). */
int tree_make_dirs(long depth);

/* Write the path with `depth` components whose last one is `name`. */
void tree_path(char *path, size_t size, long depth, const char *name);

/*
 * As tree_path, with a last component that this benchmark has not used before: of the length of
 * the variant's path, where it has one.
 */
void tree_fresh_in(struct bench *bench, unsigned int slot, char letter, long depth);

/* The same at the depth that the variant has for its value. */
void tree_fresh(struct bench *bench, unsigned int slot, char letter);

/* Make an empty file; 0 or -errno. */
int tree_touch(const char *path);

#endif
