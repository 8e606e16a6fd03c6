// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * allow ENTRIES TOP LISTED...: makes the list of one file system, whose top directory is TOP, and
 * attaches the programs. ENTRIES is how many entries the list is to have; what TOP and LISTED do
 * not use up are directories that do not exist.
 */
#include "allow.h"

#include "embedded.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

EMBED(allow, "allow.bpf.o");

#define MAX_ENTRIES 100000
/* Inode numbers that no file system of a guest reaches. */
#define NOWHERE (1ull << 40)

static int map = -1;

/* As the kernel numbers devices for itself. */
static unsigned int kernel_device(dev_t device)
{
	return major(device) << 20 | minor(device);
}

static int add(unsigned long long device, unsigned long long inode, unsigned int entry,
	       unsigned long long flags)
{
	struct allow_key key = {.device = device, .inode = inode};
	int error = bpf_map_update_elem(map, &key, &entry, flags);

	if (error && error != -EEXIST)
		return fail(-error, "allow: filling the list: %s", strerror(-error));
	return 0;
}

/* What was there before and is not listed stays denied. */
static int deny_known(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)path;
	(void)place;
	return type == FTW_D ? add(kernel_device(status->st_dev), status->st_ino, ENTRY_DENIED,
				   BPF_NOEXIST)
			     : 0;
}

static int list(unsigned long wanted, int count, char **word, dev_t device)
{
	unsigned long listed = 0;
	struct stat status;
	int error = 0;

	for (; (int)listed < count && !error; listed++) {
		if (stat(word[listed], &status) || !S_ISDIR(status.st_mode) ||
		    status.st_dev != device)
			return fail(EINVAL, "allow: %s is not a directory of that file system",
				    word[listed]);
		error = add(kernel_device(device), status.st_ino, ENTRY_LISTED, BPF_ANY);
	}
	for (; listed < wanted && !error; listed++)
		error = add(kernel_device(device), NOWHERE + listed, ENTRY_LISTED, BPF_ANY);
	if (!error && nftw(word[0], deny_known, 16, FTW_PHYS | FTW_MOUNT))
		error = -EIO;
	return error;
}

/* TOP has to be where its file system is mounted: the programs know a file system, not a path. */
static int check_top(const char *top, dev_t *device)
{
	char above[256];
	struct stat status, parent;

	snprintf(above, sizeof(above), "%s/..", top);
	if (stat(top, &status) || stat(above, &parent))
		return fail(errno, "allow: %s: %s", top, strerror(errno));
	if (status.st_dev == parent.st_dev)
		return fail(EINVAL, "allow: no file system is mounted at %s", top);
	*device = status.st_dev;
	return 0;
}

/* The programs' read-only data: the device alone. */
static int set_device(struct bpf_object *object, dev_t device)
{
	struct bpf_map *data = bpf_object__find_map_by_name(object, ".rodata");
	unsigned int number = kernel_device(device);
	int error = data ? bpf_map__set_initial_value(data, &number, sizeof(number)) : -ENOENT;

	return error ? fail(-error, "allow: setting the device: %s", strerror(-error)) : 0;
}

int command_allow(int count, char **word)
{
	struct bpf_object *object;
	unsigned long wanted;
	dev_t device;
	char *end;
	int error;

	wanted = count > 1 ? strtoul(word[0], &end, 10) : 0;
	if (count < 2 || *end || !wanted || wanted > MAX_ENTRIES ||
	    (unsigned long)count - 1 > wanted)
		return fail(EINVAL,
			    "allow: wants ENTRIES (1 to %d, no fewer than are named), TOP, and"
			    " directories",
			    MAX_ENTRIES);
	error = check_top(word[1], &device);
	object = error ? NULL : loader_open(&allow);
	if (!object)
		return error ? error : -ENOEXEC;
	error = set_device(object, device);
	if (!error)
		error = bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "entries"),
						 (unsigned int)wanted + ALLOW_ROOM);
	if (!error)
		error = loader_load(object);
	if (!error) {
		map = bpf_object__find_map_fd_by_name(object, "entries");
		error = list(wanted, count - 1, word + 1, device);
	}
	if (!error)
		error = loader_attach(object, "allow");
	bpf_object__close(object);
	return error;
}
