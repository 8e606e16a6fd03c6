// SPDX-License-Identifier: GPL-2.0-or-later
#include "policy/delay.h"

#include "arch/sys.h"
#include "bpf/tunable.h"
#include "ops/bench.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODULE_DIR "/sys/kernel/security/tunable"

/* Single access checks are timed this often: a tick of the timer lengthens one in some of them. */
#define TRIALS 9

static const char *fail(struct delay *delay, const char *what, int error)
{
	snprintf(delay->failure, sizeof(delay->failure), "%s: %s", what, strerror(error));
	return delay->failure;
}

static const char *open_module(struct delay *delay)
{
	delay->inode_fd = sys_open(MODULE_DIR "/inode_delay_ns", O_WRONLY | O_CLOEXEC, 0);
	delay->file_fd = sys_open(MODULE_DIR "/file_delay_ns", O_WRONLY | O_CLOEXEC, 0);
	delay->counts_fd = sys_open(MODULE_DIR "/counts", O_RDONLY | O_CLOEXEC, 0);
	if (delay->inode_fd < 0)
		return fail(delay, "the tunable module is not active: " MODULE_DIR,
			    -delay->inode_fd);
	if (delay->file_fd < 0 || delay->counts_fd < 0)
		return fail(delay, MODULE_DIR,
			    delay->file_fd < 0 ? -delay->file_fd : -delay->counts_fd);
	return NULL;
}

const char *delay_open(struct delay *delay, const char *control)
{
	delay->use_bpf = !strcmp(control, "tunable-bpf");
	if (!delay->use_bpf)
		return open_module(delay);
	return tunable_bpf_load(&delay->bpf) ? bpf_error() : NULL;
}

const char *delay_set(struct delay *delay, const char *ns)
{
	size_t size = strlen(ns);
	uint64_t delay_ns = strtoull(ns, NULL, 10);
	long n;

	if (delay->use_bpf)
		return tunable_bpf_set(&delay->bpf, delay_ns, delay_ns) ? bpf_error() : NULL;
	n = sys_write(delay->inode_fd, ns, size);
	if (n == (long)size)
		n = sys_write(delay->file_fd, ns, size);
	return n == (long)size ? NULL
			       : fail(delay, "setting the delay of the tunable module", (int)-n);
}

/* The number after `name` and a space in the module's counts. */
static bool find_count(const char *counts, const char *name, uint64_t *value)
{
	const char *at = strstr(counts, name);
	char *end;

	if (!at || at[strlen(name)] != ' ')
		return false;
	*value = strtoull(at + strlen(name) + 1, &end, 10);
	return *end == '\n';
}

static const char *read_module(struct delay *delay, struct tunable_bpf_counts *inode,
			       struct tunable_bpf_counts *file)
{
	char text[1024];
	ssize_t n = pread(delay->counts_fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return fail(delay, "reading the counts of the tunable module", errno);
	text[n] = '\0';
	if (find_count(text, "inode_permission_calls", &inode->calls) &&
	    find_count(text, "inode_permission_waited_ns", &inode->waited_ns) &&
	    find_count(text, "file_permission_calls", &file->calls) &&
	    find_count(text, "file_permission_waited_ns", &file->waited_ns))
		return NULL;
	return fail(delay, "the counts of the tunable module", EBADMSG);
}

/* Cause one access check of each kind, and take the time of both. */
static const char *try_once(struct delay *delay, const char *ns, int fd, uint64_t *inode_ns,
			    uint64_t *file_ns)
{
	struct tunable_bpf_counts inode = {0}, file = {0};
	const char *failed = delay_set(delay, ns);
	struct stat status;
	char byte;

	if (failed)
		return failed;
	if (stat(".", &status))
		return fail(delay, "stat of the working directory", errno);
	if (delay->use_bpf) {
		if (read(fd, &byte, 1) != 1)
			return fail(delay, "reading /dev/zero", errno);
		failed = tunable_bpf_counts(&delay->bpf, &inode, &file) ? bpf_error() : NULL;
	} else {
		/* Reading the file of its counts is itself an access check. */
		failed = read_module(delay, &inode, &file);
	}
	if (failed)
		return failed;
	if (inode.calls != 1 || file.calls != 1) {
		snprintf(delay->failure, sizeof(delay->failure),
			 "one access check of each kind was made, %llu and %llu were counted",
			 (unsigned long long)inode.calls, (unsigned long long)file.calls);
		return delay->failure;
	}
	*inode_ns = inode.waited_ns;
	*file_ns = file.waited_ns;
	return NULL;
}

static int ascending(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

const char *delay_measure(struct delay *delay, const char *ns, struct delay_wait *wait)
{
	uint64_t inode_ns[TRIALS], file_ns[TRIALS];
	const char *failed = NULL;
	int fd = sys_open("/dev/zero", O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return fail(delay, "opening /dev/zero", -fd);
	for (size_t i = 0; i < TRIALS && !failed; i++)
		failed = try_once(delay, ns, fd, &inode_ns[i], &file_ns[i]);
	sys_close(fd);
	if (!failed)
		failed = delay_set(delay, "0");
	if (failed)
		return failed;
	qsort(inode_ns, TRIALS, sizeof(*inode_ns), ascending);
	qsort(file_ns, TRIALS, sizeof(*file_ns), ascending);
	wait->inode_ns = inode_ns[TRIALS / 2];
	wait->file_ns = file_ns[TRIALS / 2];
	return NULL;
}

const char *delay_check(struct delay *delay)
{
	struct tunable_bpf_counts inode, file;

	if (!delay->use_bpf)
		return NULL; /* the module's wait has no other end than its time */
	if (tunable_bpf_counts(&delay->bpf, &inode, &file))
		return bpf_error();
	if (!inode.cut_short && !file.cut_short)
		return NULL;
	snprintf(delay->failure, sizeof(delay->failure),
		 "%llu waits of the BPF programs ended too early",
		 (unsigned long long)(inode.cut_short + file.cut_short));
	return delay->failure;
}
