/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls that answer with 0 or more, or with -errno: what ops/ use outside the measured
 * region. They leave the C library's errno alone.
 */
#ifndef LSMETER_ARCH_SYS_H
#define LSMETER_ARCH_SYS_H

#include "arch/arch.h"

#include <fcntl.h>
#include <time.h>

static inline long sys4(long nr, long a, long b, long c, long d)
{
	return arch_syscall4(nr, a, b, c, d);
}

static inline long sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	return arch_syscall6(nr, a, b, c, d, e, f);
}

static inline int sys_open(const char *path, int flags, int mode)
{
	return (int)sys4(AS_OPEN(path, flags, mode));
}

static inline int sys_close(int fd)
{
	return (int)sys4(SYS_close, fd, 0, 0, 0);
}

static inline int sys_mkdir(const char *path, int mode)
{
	return (int)sys4(AS_MKDIR(path, mode));
}

static inline int sys_rmdir(const char *path)
{
	return (int)sys4(AS_RMDIR(path));
}

static inline int sys_link(const char *from, const char *to)
{
	return (int)sys4(AS_LINK(from, to));
}

static inline int sys_symlink(const char *target, const char *path)
{
	return (int)sys4(AS_SYMLINK(target, path));
}

/* The kernel's clock, without the system call. */
static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * Set the times of a file that is only read: changed an hour ago, read an hour from now. The
 * kernel compares them on every read (relatime), and an instruction more or less would depend
 * on whether two of them fall into the same second.
 */
static inline int sys_settle_times(const char *path)
{
	struct timespec now, times[2];
	long error = sys4(SYS_clock_gettime, CLOCK_REALTIME, (long)&now, 0, 0);

	if (error)
		return (int)error;
	times[0] = (struct timespec){.tv_sec = now.tv_sec + 3600};
	times[1] = (struct timespec){.tv_sec = now.tv_sec - 3600};
	/* The link itself, should the path be one: following it reads it too. */
	return (int)sys4(SYS_utimensat, AT_FDCWD, (long)path, (long)times, AT_SYMLINK_NOFOLLOW);
}

static inline long sys_write(int fd, const void *data, unsigned long size)
{
	return sys4(SYS_write, fd, (long)data, (long)size, 0);
}

#endif
