// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/empty.h"

#include "bpf/btf.h"
#include "bpf/lsm.h"
#include "bpf/syscall.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "bpf_lsm_"

/*
 * Where 0 means that nothing is objected to; on inode_init_security it would mean that there is an
 * attribute to be written. Those after the empty line came with kernels from 6.2 on.
 */
static const char *const hooks[] = {
	"d_instantiate",       "file_alloc_security",  "file_free_security", "file_open",
	"file_permission",     "inode_alloc_security", "inode_create",	     "inode_follow_link",
	"inode_free_security", "inode_getattr",	       "inode_link",	     "inode_mkdir",
	"inode_mknod",	       "inode_permission",     "inode_readlink",     "inode_rename",
	"inode_rmdir",	       "inode_setattr",	       "inode_symlink",	     "inode_unlink",
	"path_chmod",	       "path_chown",	       "path_link",	     "path_mkdir",
	"path_mknod",	       "path_rename",	       "path_rmdir",	     "path_symlink",
	"path_truncate",       "path_unlink",

	"file_post_open",      "file_release",	       "file_truncate",	     "inode_post_setattr",
	"path_post_mknod",
};

#define HOOKS (sizeof(hooks) / sizeof(*hooks))

/* What one opening, writing and reading has to call. */
static const char *const certain[] = {"file_open", "file_permission", "inode_permission"};

struct attached {
	int function_id;
	int link_fd;
};

static struct attached attached[HOOKS];
static char names[1024];

static bool note_function(int id, const char *name, void *context)
{
	(void)context;
	if (strncmp(name, PREFIX, sizeof(PREFIX) - 1) != 0)
		return false;
	for (size_t i = 0; i < HOOKS; i++)
		if (!strcmp(name + sizeof(PREFIX) - 1, hooks[i]))
			attached[i].function_id = id;
	return false;
}

static int attach(size_t index)
{
	static const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	const struct lsm_program program = {
		.hook = hooks[index],
		.function_id = attached[index].function_id,
		.insns = insns,
		.insn_count = sizeof(insns) / sizeof(*insns),
		.btf_fd = -1,
	};
	size_t used = strlen(names);

	attached[index].link_fd = bpf_attach_lsm(&program);
	if (attached[index].link_fd < 0)
		return attached[index].link_fd;
	snprintf(names + used, sizeof(names) - used, "%s%s", used ? "," : "", hooks[index]);
	return 0;
}

/* How often the program behind a link was run while the kernel counted; -errno if unknown. */
static long runs(int link_fd)
{
	struct bpf_link_info link;
	struct bpf_prog_info program;
	union bpf_attr attr;
	int fd, result;

	memset(&attr, 0, sizeof(attr));
	memset(&link, 0, sizeof(link));
	attr.info.bpf_fd = (uint32_t)link_fd;
	attr.info.info_len = sizeof(link);
	attr.info.info = (uintptr_t)&link;
	result = bpf_call(BPF_OBJ_GET_INFO_BY_FD, &attr);
	if (result < 0)
		return result;
	memset(&attr, 0, sizeof(attr));
	attr.prog_id = link.prog_id;
	fd = bpf_call(BPF_PROG_GET_FD_BY_ID, &attr);
	if (fd < 0)
		return fd;
	memset(&attr, 0, sizeof(attr));
	memset(&program, 0, sizeof(program));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(program);
	attr.info.info = (uintptr_t)&program;
	result = bpf_call(BPF_OBJ_GET_INFO_BY_FD, &attr);
	close(fd);
	return result < 0 ? result : (long)program.run_cnt;
}

static int use_file(const char *directory)
{
	char path[256], byte = 'x';
	int fd, error;

	snprintf(path, sizeof(path), "%s/empty-programs", directory);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	error = write(fd, &byte, 1) == 1 && pread(fd, &byte, 1, 0) == 1 ? 0 : errno;
	close(fd);
	return unlink(path) ? errno : error;
}

/*
 * The kernel accepts programs also where `bpf` is not among the active LSMs, and never calls them.
 * It counts runs only for this check: nothing of that is left for the measurements.
 */
static int check_called(const char *directory)
{
	union bpf_attr attr;
	int counting, error;

	memset(&attr, 0, sizeof(attr));
	attr.enable_stats.type = BPF_STATS_RUN_TIME;
	counting = bpf_call(BPF_ENABLE_STATS, &attr);
	if (counting < 0)
		return bpf_fail(-counting, "the kernel does not count the runs of BPF programs: %s",
				strerror(-counting));
	error = use_file(directory);
	close(counting);
	if (error)
		return bpf_fail(error, "cannot try the BPF programs in %s: %s", directory,
				strerror(error));
	for (size_t i = 0; i < sizeof(certain) / sizeof(*certain); i++) {
		for (size_t j = 0; j < HOOKS; j++) {
			if (!strcmp(certain[i], hooks[j]) &&
			    (!attached[j].function_id || runs(attached[j].link_fd) <= 0))
				return bpf_fail(EOPNOTSUPP,
						"the kernel does not call the BPF program on %s:"
						" is bpf among the active LSMs (lsm=...,bpf)?",
						certain[i]);
		}
	}
	return 0;
}

int bpf_empty_load(const char *directory)
{
	int count = 0, error = btf_each_kernel_function(note_function, NULL);

	for (size_t i = 0; i < HOOKS && error >= 0; i++) {
		if (!attached[i].function_id)
			continue;
		error = attach(i);
		if (error == -EINVAL && strstr(bpf_error(), "disabled hook")) {
			/* Newer kernels let no program on some; the list of hooks shows it. */
			attached[i].function_id = 0;
			error = 0;
			continue;
		}
		count++;
	}
	if (error >= 0 && !count)
		error = bpf_fail(ENOENT,
				 "the kernel has no hook for BPF programs (CONFIG_BPF_LSM)");
	if (error >= 0)
		error = check_called(directory);
	return error < 0 ? error : count;
}

const char *bpf_empty_hooks(void)
{
	return names;
}
