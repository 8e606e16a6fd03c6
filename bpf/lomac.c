// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lomac PATH=LEVEL...: gives levels to directories and files, and attaches the programs.
 */
#include "lomac.h"

#include "embedded.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

EMBED(lomac, "lomac.bpf.o");
EMBED(lomac_union, "lomac-union.bpf.o");

#define MAX_ENTRIES 256

struct entry {
	const char *path;
	size_t size;
	unsigned int level;
};

static struct entry table[MAX_ENTRIES];
static size_t entries;

static int read_table(int count, char **word)
{
	if (count > MAX_ENTRIES)
		return fail(E2BIG, "lomac: more than %d entries", MAX_ENTRIES);
	for (int i = 0; i < count; i++) {
		char *equals = strrchr(word[i], '=');
		struct entry *entry = &table[entries++];

		if (!equals || word[i][0] != '/' ||
		    (strcmp(equals, "=low") && strcmp(equals, "=high")))
			return fail(EINVAL, "lomac: '%.80s' is not /PATH=low or /PATH=high",
				    word[i]);
		*equals = '\0';
		entry->path = word[i];
		entry->size = strlen(word[i]);
		if (entry->size > 1 && word[i][entry->size - 1] == '/')
			return fail(EINVAL, "lomac: '%.80s' must not end with a slash", word[i]);
		entry->level = equals[1] == 'l' ? LEVEL_LOW : LEVEL_HIGH;
	}
	return 0;
}

/* The entry whose path is the longest that `path` lies at or beneath; NULL if there is none. */
static const struct entry *longest(const char *path)
{
	const struct entry *best = NULL;

	for (size_t i = 0; i < entries; i++) {
		const struct entry *entry = &table[i];
		bool root = entry->size == 1;

		if (!root && (strncmp(path, entry->path, entry->size) ||
			      (path[entry->size] && path[entry->size] != '/')))
			continue;
		if (!best || entry->size > best->size)
			best = entry;
	}
	return best;
}

static int mark(int map, const char *path, unsigned int level)
{
	struct lomac_object object = {.table = level};
	int fd = open(path, O_PATH | O_CLOEXEC);
	int error;

	if (fd < 0)
		return fail(errno, "lomac: %s: %s", path, strerror(errno));
	error = bpf_map_update_elem(map, &fd, &object, BPF_ANY);
	close(fd);
	if (error)
		return fail(-error, "lomac: giving %s a level: %s%s", path, strerror(-error),
			    error == -EBADF ? " (is bpf among the active LSMs?)" : "");
	return 0;
}

/* The top directory of everything mounted: a walk upwards ends there. */
static int mark_mounts(int map)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *mounted;
	int error = 0;

	if (!mounts)
		return fail(errno, "lomac: /proc/self/mounts: %s", strerror(errno));
	while (!error && (mounted = getmntent(mounts))) {
		const struct entry *entry = longest(mounted->mnt_dir);

		if (entry)
			error = mark(map, mounted->mnt_dir, entry->level);
	}
	endmntent(mounts);
	return error;
}

/* Enable the programs of hooks that differ from kernel to kernel. */
static int choose_programs(struct bpf_object *object)
{
	struct {
		const char *program;
		bool wanted;
	} choice[] = {
		{"lomac_setattr_2", loader_hook_arguments("inode_setattr") == 2},
		{"lomac_setattr_3", loader_hook_arguments("inode_setattr") == 3},
		{"lomac_set_acl", loader_hook_arguments("inode_set_acl") > 0},
		{"lomac_remove_acl", loader_hook_arguments("inode_remove_acl") > 0},
	};

	if (choice[0].wanted == choice[1].wanted)
		return fail(EOPNOTSUPP,
			    "lomac: the kernel's hook inode_setattr is missing or has other"
			    " arguments (CONFIG_BPF_LSM, CONFIG_DEBUG_INFO_BTF)");
	for (size_t i = 0; i < sizeof(choice) / sizeof(*choice); i++) {
		struct bpf_program *program =
			bpf_object__find_program_by_name(object, choice[i].program);

		if (!program)
			return fail(ENOENT, "lomac: no program %s", choice[i].program);
		bpf_program__set_autoload(program, choice[i].wanted);
	}
	return 0;
}

int command_lomac(int count, char **word)
{
	struct bpf_object *object;
	int map, error = read_table(count, word);

	if (error)
		return error;
	object = loader_open(loader_has_member("file", "f_path") ? &lomac : &lomac_union);
	if (!object)
		return -ENOEXEC;
	error = choose_programs(object);
	if (!error)
		error = loader_load(object);
	map = error ? -1 : bpf_object__find_map_fd_by_name(object, "objects");
	if (!error)
		error = mark_mounts(map);
	for (size_t i = 0; i < entries && !error; i++)
		error = mark(map, table[i].path, table[i].level);
	if (!error)
		error = loader_attach(object, "lomac");
	bpf_object__close(object);
	return error;
}
