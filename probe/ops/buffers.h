/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading and writing with buffers of a given size in files of 100 KB (data_bytes), starting again
 * at the front when the next buffer would not fit (the seek comes before the measured region).
 */
#ifndef LSMETER_OPS_BUFFERS_H
#define LSMETER_OPS_BUFFERS_H

#include "arch/sys.h"
#include "ops/bench.h"

#include <errno.h>

/* The length of each file. */
static long data_bytes = 102400;

#define BUFFER_VARIANT(size, from, text) \
	{.params = "size=" #size, .origin = from, .title = text " " #size " bytes", .value = size}

#define STUDY_BUFFERS(VERB) \
	BUFFER_VARIANT(0, ORIGIN_STUDY, VERB), BUFFER_VARIANT(1024, ORIGIN_STUDY, VERB), \
		BUFFER_VARIANT(2048, ORIGIN_STUDY, VERB), BUFFER_VARIANT(4096, ORIGIN_STUDY, VERB)

static char buffer[4096] __attribute__((aligned(4096)));

/* Make a file of data_bytes and open it at its front. Returns a descriptor or -errno. */
static inline int data_file(const char *name, int flags)
{
	int fd = sys_open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);
	long n = 0;

	if (fd < 0)
		return fd;
	for (long done = 0; done < data_bytes && n >= 0; done += n) {
		n = sys_write(fd, buffer, sizeof(buffer));
		if (n == 0)
			n = -EIO;
	}
	sys_close(fd);
	if (n >= 0 && flags == O_RDONLY)
		n = sys_settle_times(name);
	return n < 0 ? (int)n : sys_open(name, flags, 0);
}

/* Whether the file has no room for another reading, so that this cycle begins at its front. */
static inline bool at_end(const struct bench *bench)
{
	long bytes = bench->variant->value * (bench->batch ? bench->batch : 1);

	return bytes && bench->serial && (bench->serial - bench->since) % (data_bytes / bytes) == 0;
}

static inline struct call rewind_of(int fd)
{
	return (struct call){.nr = SYS_lseek, .arg = {fd, 0, SEEK_SET}};
}

static inline struct call transfer(long nr, int fd, long size)
{
	return (struct call){.nr = nr, .arg = {fd, (long)buffer, size}, .want = size};
}

/* Both the reading and the writing are in the measured region. */
static inline int copy_setup(struct bench *bench)
{
	bench->fd[0] = data_file("from", O_RDONLY);
	if (bench->fd[0] < 0)
		return bench->fd[0];
	bench->fd[1] = data_file("to", O_WRONLY);
	return bench->fd[1] < 0 ? bench->fd[1] : 0;
}

/* One transfer is the region, or two in a row; before it each file is rewound when at its end. */
static inline int transfer_arm(struct bench *bench, unsigned int calls, const struct call *call)
{
	bench->most =
		bench->variant->value ? (unsigned int)(data_bytes / bench->variant->value) : 0;
	bench->length = 0;
	for (unsigned int i = 0; i < calls && at_end(bench); i++)
		bench->call[bench->length++] = rewind_of((int)call[i].arg[0]);
	bench->first = bench->length;
	for (unsigned int i = 0; i < calls; i++)
		bench->call[bench->length++] = call[i];
	bench->calls = calls;
	return 0;
}

static inline int copy_arm(struct bench *bench)
{
	long size = bench->variant->value;
	const struct call call[] = {
		transfer(SYS_read, bench->fd[0], size),
		transfer(SYS_write, bench->fd[1], size),
	};

	return transfer_arm(bench, 2, call);
}

static inline int close_files(struct bench *bench)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(bench->fd); i++) {
		if (bench->fd[i] >= 0)
			sys_close(bench->fd[i]);
		bench->fd[i] = -1;
	}
	return 0;
}

#endif
