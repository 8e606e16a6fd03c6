/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls that answer with 0 or more, or with -errno: what ops/ use outside the measured
 * region. They leave the C library's errno alone.
 */
#ifndef LSMETER_SYS_H
#define LSMETER_SYS_H

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>

static inline long sys4(long nr, long a, long b, long c, long d)
{
	long result;
	register long r10 asm("r10") = d;

	asm volatile("syscall"
		     : "=a"(result)
		     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
		     : "rcx", "r11", "memory");
	return result;
}

static inline int sys_open(const char *path, int flags, int mode)
{
	return (int)sys4(SYS_open, (long)path, flags, mode, 0);
}

static inline int sys_close(int fd)
{
	return (int)sys4(SYS_close, fd, 0, 0, 0);
}

static inline int sys_mkdir(const char *path, int mode)
{
	return (int)sys4(SYS_mkdir, (long)path, mode, 0, 0);
}

static inline int sys_rmdir(const char *path)
{
	return (int)sys4(SYS_rmdir, (long)path, 0, 0, 0);
}

static inline int sys_unlink(const char *path)
{
	return (int)sys4(SYS_unlink, (long)path, 0, 0, 0);
}

static inline int sys_rename(const char *from, const char *to)
{
	return (int)sys4(SYS_rename, (long)from, (long)to, 0, 0);
}

static inline int sys_link(const char *from, const char *to)
{
	return (int)sys4(SYS_link, (long)from, (long)to, 0, 0);
}

static inline int sys_symlink(const char *target, const char *path)
{
	return (int)sys4(SYS_symlink, (long)target, (long)path, 0, 0);
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

static inline long sys_lseek(int fd, long offset, int whence)
{
	return sys4(SYS_lseek, fd, offset, whence, 0);
}

static inline long sys_write(int fd, const void *data, unsigned long size)
{
	return sys4(SYS_write, fd, (long)data, (long)size, 0);
}

#endif
