// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Init of a guest that writes the functions in /proc/kallsyms to where its host reads them, and
 * ends. Freestanding: built with -nostdlib -static, so that it needs no C library and boots with
 * any kernel.
 */
#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <stddef.h>

#define REBOOT_MAGIC1 0xfee1dead
#define REBOOT_MAGIC2 672274793
#define RESTART	      0x01234567

#if defined(__x86_64__)

#define DEBUG_PORT 0xe9

static long call(long nr, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}

/* Only a process with this privilege may use the port: lockdown refuses it. */
static long open_output(void)
{
	return call(__NR_iopl, 3, 0, 0, 0, 0);
}

static void put(const char *text, size_t length)
{
	unsigned short port = DEBUG_PORT;

	__asm__ volatile("cld; rep outsb" : "+S"(text), "+c"(length) : "d"(port) : "memory");
}

#elif defined(__aarch64__)

static long call(long nr, long a, long b, long c, long d, long e)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory");
	return x0;
}

static long output;

/* A serial line, which must not change what it is given. */
static long open_output(void)
{
	static struct termios raw = {.c_cflag = B115200 | CS8 | CREAD | CLOCAL};

	call(__NR_mkdirat, AT_FDCWD, (long)"/dev", 0755, 0, 0);
	call(__NR_mount, (long)"dev", (long)"/dev", (long)"devtmpfs", 0, 0);
	output = call(__NR_openat, AT_FDCWD, (long)"/dev/ttyS0", O_WRONLY | O_NOCTTY, 0, 0);
	return output < 0 ? output : call(__NR_ioctl, output, TCSETSW, (long)&raw, 0, 0);
}

static void put(const char *text, size_t length)
{
	while (length) {
		long written = call(__NR_write, output, (long)text, (long)length, 0, 0);

		if (written <= 0)
			return;
		text += written;
		length -= (size_t)written;
	}
}

#endif

#define KIND	 17 /* where a line has it: behind the address */
#define MAX_LINE 640

static char buffer[1 << 16], line[MAX_LINE];

/* Write the lines of functions, and few more; a line may begin in one piece and end in the next. */
static void put_functions(const char *text, size_t length)
{
	static size_t filled;

	for (size_t i = 0; i < length; i++) {
		char kind = line[KIND] | ('a' ^ 'A'), *name = line + KIND + 2;

		if (filled < MAX_LINE)
			line[filled++] = text[i];
		if (text[i] != '\n')
			continue;
		/* The end of all text has another kind, avc_cache_stats is data: `_e`, `av`. */
		if (kind == 't' || kind == 'w' || name[1] == 'e' || name[1] == 'v')
			put(line, filled);
		filled = 0;
	}
}

/* Entered with whatever stack alignment the kernel gives; nothing here needs more. */
__attribute__((noreturn)) void _start(void)
{
	long file, length = -1;

	call(__NR_mkdirat, AT_FDCWD, (long)"/proc", 0755, 0, 0);
	call(__NR_mount, (long)"proc", (long)"/proc", (long)"proc", 0, 0);
	file = call(__NR_openat, AT_FDCWD, (long)"/proc/kallsyms", 0, 0, 0);
	if (file >= 0 && open_output() >= 0) {
		while ((length = call(__NR_read, file, (long)buffer, sizeof(buffer), 0, 0)) > 0)
			put_functions(buffer, (size_t)length);
		if (!length)
			put("eof\n", 4);
	}
	for (;;)
		call(__NR_reboot, REBOOT_MAGIC1, REBOOT_MAGIC2, RESTART, 0, 0);
}
