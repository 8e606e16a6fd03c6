// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * files map|sync COUNT DIRECTORY: one by one, as many times: map a file of 64 KiB of the 20 that
 * are there, touch each of its pages, and unmap it; or append 200 bytes to a log, and fsync it.
 * Leaves with 1 as soon as anything is not as it must be. `files make 0 DIRECTORY` makes the 20
 * files.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FILES 20
#define BYTES 65536
#define PAGE  4096
#define ENTRY 200

static char path[500];

static const char *path_of(const char *directory, unsigned int number)
{
	snprintf(path, sizeof(path), "%s/%02u", directory, number);
	return path;
}

static int open_or_fail(int flags)
{
	int fd = open(path, flags, 0644);

	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static void make(const char *directory)
{
	static char page[PAGE];

	for (unsigned int i = 0; i < FILES; i++) {
		int fd;

		path_of(directory, i);
		fd = open_or_fail(O_WRONLY | O_CREAT | O_TRUNC);
		memset(page, 'a' + (int)i, sizeof(page));
		for (int at = 0; at < BYTES; at += PAGE) {
			if (write(fd, page, PAGE) != PAGE)
				err(1, "%s", path);
		}
		close(fd);
	}
}

static void map(const char *directory, unsigned int number)
{
	const char *mapped;
	int fd;

	path_of(directory, number % FILES);
	fd = open_or_fail(O_RDONLY);
	mapped = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		err(1, "%s", path);
	for (int at = 0; at < BYTES; at += PAGE) {
		if (mapped[at] != 'a' + (int)(number % FILES))
			errx(1, "%s: another content", path);
	}
	if (munmap((void *)mapped, BYTES) || close(fd))
		err(1, "%s", path);
}

static void sync_log(const char *directory, unsigned int count)
{
	char entry[ENTRY];
	off_t begin;
	int fd;

	snprintf(path, sizeof(path), "%s/log", directory);
	fd = open_or_fail(O_WRONLY | O_CREAT | O_APPEND);
	begin = lseek(fd, 0, SEEK_END);
	memset(entry, 'e', sizeof(entry));
	for (unsigned int i = 0; i < count; i++) {
		if (write(fd, entry, sizeof(entry)) != ENTRY || fsync(fd))
			err(1, "%s", path);
	}
	if (lseek(fd, 0, SEEK_END) != begin + (off_t)count * ENTRY)
		errx(1, "%s: another length", path);
	close(fd);
}

int main(int argc, char **argv)
{
	unsigned int count = argc == 4 ? (unsigned int)atoi(argv[2]) : 0;

	if (argc != 4)
		errx(2, "files make|map|sync COUNT DIRECTORY");
	if (!strcmp(argv[1], "make"))
		make(argv[3]);
	else if (!strcmp(argv[1], "sync"))
		sync_log(argv[3], count);
	else
		for (unsigned int i = 0; i < count; i++)
			map(argv[3], i);
	return 0;
}
