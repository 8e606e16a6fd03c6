// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tree OPERATION DIRECTORY: what compilebench does to trees of sources, with a tree that is always
 * the same: 20 directories of 10 files, of 100 to 16,100 bytes each. Prints how many files it has
 * been through, and their bytes; leaves with 1 as soon as anything is not as it must be.
 */
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORIES 20
#define FILES	    10
#define PATCHED	    3 /* every third file is patched */
#define MOST	    16384

static const char *root;
static size_t files, bytes;
static char lines[2 * MOST + 100];

static const char *path_of(unsigned int directory, unsigned int file, const char *suffix)
{
	static char path[2][500];
	static int other;

	other = !other;
	snprintf(path[other], sizeof(path[other]), "%s/part%02u/file%02u%s", root, directory, file,
		 suffix);
	return path[other];
}

static void make_lines(void)
{
	unsigned int seed = 1;

	for (size_t at = 0; at < 2 * MOST;) {
		seed = seed * 1103515245 + 12345;
		at += (size_t)sprintf(lines + at, "int value_%u = %u;\n", seed >> 24, seed >> 16);
	}
}

/* The content of a file: lines of numbers, from a place on that nothing but its own determines. */
static size_t content(unsigned int directory, unsigned int file, bool patched, char *text)
{
	unsigned int seed = (directory * FILES + file + 1) * 1103515245 + 12345;
	size_t size = 100 + (seed >> 8) % 16000;

	memcpy(text, lines + size % 7919, size);
	/* A patch changes a line in the middle. */
	if (patched)
		memcpy(text + size / 2, "PATCHED", 7);
	return size;
}

static void write_file(const char *path, const char *text, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);

	if (fd < 0 || write(fd, text, size) != (ssize_t)size || close(fd))
		err(1, "%s", path);
	files++;
	bytes += size;
}

static void read_file(const char *path, const char *wanted, size_t size)
{
	static char text[MOST];
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		err(1, "%s", path);
	if (read(fd, text, sizeof(text)) != (ssize_t)size || memcmp(text, wanted, size))
		errx(1, "%s: another content", path);
	close(fd);
	files++;
	bytes += size;
}

static void create(unsigned int directory, unsigned int file)
{
	char text[MOST];
	size_t size = content(directory, file, false, text);

	write_file(path_of(directory, file, ".c"), text, size);
}

static void read_one(unsigned int directory, unsigned int file)
{
	char text[MOST];
	size_t size = content(directory, file, false, text);

	read_file(path_of(directory, file, ".c"), text, size);
}

static void read_patched(unsigned int directory, unsigned int file)
{
	char text[MOST];
	size_t size = content(directory, file, file % PATCHED == 0, text);

	read_file(path_of(directory, file, ".c"), text, size);
}

/* As a compiler: read the source, write an object beside it. */
static void compile(unsigned int directory, unsigned int file)
{
	char text[MOST];
	size_t size = content(directory, file, false, text);

	read_file(path_of(directory, file, ".c"), text, size);
	write_file(path_of(directory, file, ".o"), text, size);
}

/* As patch: a new file takes the place of the old one. */
static void patch(unsigned int directory, unsigned int file)
{
	const char *path, *new;
	char text[MOST];
	size_t size;

	if (file % PATCHED)
		return;
	size = content(directory, file, false, text);
	path = path_of(directory, file, ".c");
	read_file(path, text, size);
	size = content(directory, file, true, text);
	new = path_of(directory, file, ".new");
	write_file(new, text, size);
	if (rename(new, path))
		err(1, "%s", new);
}

static void stat_one(unsigned int directory, unsigned int file)
{
	const char *path = path_of(directory, file, ".c");
	char text[MOST];
	size_t size = content(directory, file, false, text);
	struct stat found;

	if (lstat(path, &found))
		err(1, "%s", path);
	if (!S_ISREG(found.st_mode) || (size_t)found.st_size != size)
		errx(1, "%s: another size", path);
	files++;
	bytes += size;
}

static void delete_one(unsigned int directory, unsigned int file)
{
	const char *path = path_of(directory, file, ".c");

	if (unlink(path))
		err(1, "%s", path);
	files++;
}

/* All that is in a directory, as the operations that know no names do it. */
static void list(const char *directory)
{
	DIR *opened = opendir(directory);

	if (!opened)
		err(1, "%s", directory);
	while (readdir(opened))
		;
	closedir(opened);
}

static const struct {
	const char *name;
	void (*each)(unsigned int directory, unsigned int file);
} operations[] = {
	{"create", create},
	{"compile", compile},
	{"patch", patch},
	{"read", read_one},
	{"stat", stat_one},
	{"delete", delete_one},
	{"read-patched", read_patched},
};

static void carry_out(size_t index)
{
	bool creates = operations[index].each == create;
	bool deletes = operations[index].each == delete_one;

	if (creates && mkdir(root, 0755))
		err(1, "%s", root);
	for (unsigned int directory = 0; directory < DIRECTORIES; directory++) {
		char path[500];

		snprintf(path, sizeof(path), "%s/part%02u", root, directory);
		if (creates && mkdir(path, 0755))
			err(1, "%s", path);
		list(path);
		for (unsigned int file = 0; file < FILES; file++)
			operations[index].each(directory, file);
		if (deletes && rmdir(path))
			err(1, "%s", path);
	}
	if (deletes && rmdir(root))
		err(1, "%s", root);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < sizeof(operations) / sizeof(operations[0]); i++) {
		if (strcmp(argv[1], operations[i].name))
			continue;
		root = argv[2];
		make_lines();
		carry_out(i);
		printf("%zu files, %zu bytes\n", files, bytes);
		return 0;
	}
	errx(2, "tree create|compile|patch|read|read-patched|stat|delete DIRECTORY");
}
