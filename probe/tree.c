// SPDX-License-Identifier: GPL-2.0-or-later
#include "tree.h"

#include "sys.h"

#include <stdio.h>
#include <string.h>

#define FRESH_LENGTH 7 /* a letter and six digits */

static const char chain[] = "AA/BB/CC/DD/EE/FF/GG";

void tree_path(char *path, size_t size, long depth, const char *name)
{
	snprintf(path, size, "%.*s%s", (int)(3 * (depth - 1)), "AA/BB/CC/DD/EE/FF/GG/", name);
}

void tree_fresh_in(struct bench *bench, unsigned int slot, char letter, long depth)
{
	const char *like = bench->variant->path ? bench->variant->path : "";
	int more = (int)strlen(like) - FRESH_LENGTH;
	char name[64];

	/* A fixed width, so that hashing the name costs the same each time. */
	snprintf(name, sizeof(name), "%c%.*s%06u", letter, more > 0 ? more : 0, like,
		 bench->serial);
	tree_path(bench->path[slot], sizeof(bench->path[slot]), depth, name);
}

void tree_fresh(struct bench *bench, unsigned int slot, char letter)
{
	tree_fresh_in(bench, slot, letter, bench->variant->value);
}

int tree_touch(const char *path)
{
	int fd = sys_open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);

	return fd < 0 ? fd : sys_close(fd);
}

int tree_make_dirs(long depth)
{
	char path[sizeof(chain)];
	int error = 0;

	for (long i = 1; i < depth && !error; i++) {
		snprintf(path, sizeof(path), "%.*s", (int)(3 * i - 1), chain);
		error = sys_mkdir(path, 0755);
	}
	return error;
}

int tree_make(void)
{
	char path[64];
	int error = tree_make_dirs(MAX_DEPTH);

	for (long depth = 1; depth <= MAX_DEPTH && !error; depth++) {
		tree_path(path, sizeof(path), depth, "HH");
		error = tree_touch(path);
	}
	if (!error)
		error = sys_mkdir("XX", 0755);
	if (!error)
		error = sys_mkdir("XX/YY", 0755);
	if (!error)
		error = sys_link("HH", PATH_HARD);
	if (!error)
		error = sys_symlink("HH", PATH_SOFT);
	if (!error)
		error = sys_settle_times(PATH_SOFT);
	return error;
}
