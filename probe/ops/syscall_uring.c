// SPDX-License-Identifier: GPL-2.0-or-later
/* The suite `syscall`: io_uring, one request at a time, submitted and waited for in one call. */
#include "ops/define.h"

#include <linux/io_uring.h>
#include <linux/stat.h>
#include <sys/mman.h>

#define SUITE "syscall"

static struct io_uring_params ring;
static char *rings;
static struct io_uring_sqe *entry;
static struct statx status;
static char data[4096];

static int ring_setup(struct bench *bench)
{
	long fd, at, error = make_sized("HH", 4096);

	if (!error)
		error = sys_settle_times("HH");
	if (error)
		return (int)error;
	ring = (struct io_uring_params){0};
	fd = sys4(SYS_io_uring_setup, 1, (long)&ring, 0, 0);
	if (fd < 0)
		return fd == -EPERM ? -ENOSYS : (int)fd; /* switched off by sysctl */
	if (!(ring.features & IORING_FEAT_SINGLE_MMAP))
		return -ENOSYS;
	bench->fd[1] = (int)fd;
	bench->fd[0] = sys_open("HH", O_RDONLY, 0);
	at = sys6(SYS_mmap, 0, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
	if (at < 0 && at > -4096)
		return (int)at;
	rings = (char *)at;
	at = sys6(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);
	if (at < 0 && at > -4096)
		return (int)at;
	entry = (struct io_uring_sqe *)at;
	return bench->fd[0] < 0 ? bench->fd[0] : 0;
}

static int ring_arm(struct bench *bench)
{
	snprintf(bench->path[0], sizeof(bench->path[0]), "HH");
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_io_uring_enter,
				  .arg = {bench->fd[1], 1, 1, IORING_ENTER_GETEVENTS},
				  .want = 1});
	region_from(bench, 0);
	return 0;
}

static void fill(struct bench *bench)
{
	*entry = (struct io_uring_sqe){.opcode = (unsigned char)bench->variant->value};
	switch (bench->variant->value) {
	case IORING_OP_READ:
		entry->fd = bench->fd[0];
		entry->addr = (uintptr_t)data;
		entry->len = sizeof(data);
		break;
	case IORING_OP_OPENAT:
		entry->fd = AT_FDCWD;
		entry->addr = (uintptr_t)bench->path[0];
		break;
	case IORING_OP_STATX:
		entry->fd = AT_FDCWD;
		entry->addr = (uintptr_t)bench->path[0];
		entry->len = STATX_BASIC_STATS;
		entry->off = (uintptr_t)&status;
		break;
	}
}

static unsigned int *ring_word(unsigned int offset)
{
	return (unsigned int *)(void *)(rings + offset);
}

/* Submit, wait, and look at the answer; a file that was opened is closed. */
static void ring_run(struct bench *bench)
{
	unsigned int *tail = ring_word(ring.sq_off.tail), *head = ring_word(ring.cq_off.head);
	const struct io_uring_cqe *answer =
		(const struct io_uring_cqe *)(void *)(rings + ring.cq_off.cqes);
	long want = bench->variant->value == IORING_OP_READ ? (long)sizeof(data) : 0;
	int result;

	fill(bench);
	*ring_word(ring.sq_off.array) = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	call_all(&bench->call[0]);
	result = answer[*head & *ring_word(ring.cq_off.ring_mask)].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	if (bench->variant->value == IORING_OP_OPENAT && result >= 0)
		result = sys_close(result);
	if (result != want)
		bench->status = result ? result : -1;
}

VARIANTS(ring, VARIANT("op=nop", "io_uring: nothing", IORING_OP_NOP),
	 VARIANT("op=read", "io_uring: read 4096 bytes of a file", IORING_OP_READ),
	 VARIANT("op=open", "io_uring: open a file, and close it", IORING_OP_OPENAT),
	 VARIANT("op=stat", "io_uring: statx of a file", IORING_OP_STATX));
DEFINE_OP(ring, "io_uring", .setup = ring_setup, .run = ring_run, .needs = "io_uring");
