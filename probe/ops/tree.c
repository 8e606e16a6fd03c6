// SPDX-License-Identifier: GPL-2.0-or-later
#include "ops/tree.h"

#include "arch/sys.h"

#include <stdio.h>
#include <string.h>

#define FRESH_LENGTH 7 /* a letter and six digits */

static const char chain[] = "AA/BB/CC/DD/EE/FF/GG";

/* Names are made for every cycle, in the guest's time: without stdio. */
void tree_path(char *path, size_t size, long depth, const char *name)
{
	size_t above = 3 * (size_t)(depth - 1), length = strlen(name);

	if (length >= size - above)
		length = size - above - 1;
	memcpy(path, "AA/BB/CC/DD/EE/FF/GG/", above);
	memcpy(path + above, name, length);
	path[above + length] = '\0';
}

void tree_fresh_in(struct bench *bench, unsigned int slot, char letter, long depth)
{
	const char *like = bench->variant->path ? bench->variant->path : "";
	size_t length = strlen(like), digits;
	unsigned int rest = bench->serial;
	char name[sizeof(bench->path[slot])] = {letter};

	/* A fixed width, so that hashing the name costs the same each time. */
	length = length > FRESH_LENGTH ? length : FRESH_LENGTH;
	memcpy(name + 1, like, length - FRESH_LENGTH);
	for (digits = 1; digits < FRESH_LENGTH; digits++, rest /= 10)
		name[length - digits] = (char)('0' + rest % 10);
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
