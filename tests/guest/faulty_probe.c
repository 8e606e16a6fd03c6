// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A probe that goes wrong in one way, chosen when it is built: FAULT is the name of a function
 * below. On the host it hands over to the real probe (REAL), so that plans can be made.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

static int channel(void)
{
	struct termios raw;
	int fd;

	mount("none", "/dev", "devtmpfs", 0, "");
	fd = open("/dev/ttyS1", O_RDWR | O_NOCTTY);
	tcgetattr(fd, &raw);
	cfmakeraw(&raw);
	tcsetattr(fd, TCSANOW, &raw);
	return fd;
}

/* Bytes that are no protocol, then a clean end. */
__attribute__((unused)) static void garbage(void)
{
	static const char text[] = "\x1b[31m<script>alert(1)</script>\xff\n0 hello *00000000\n";
	int fd = channel();

	for (int i = 0; i < 50; i++)
		(void)!write(fd, text, sizeof(text) - 1);
	tcdrain(fd);
	reboot(RB_AUTOBOOT);
}

/* Lines without end that are no protocol. */
__attribute__((unused)) static void chatter(void)
{
	static const char text[] = "0 hello *00000000\n";
	int fd = channel();

	for (;;)
		(void)!write(fd, text, sizeof(text) - 1);
}

/* More than any honest guest says. */
__attribute__((unused)) static void gigabytes(void)
{
	static char text[65536];
	int fd = channel();

	memset(text, 'x', sizeof(text));
	for (;;)
		(void)!write(fd, text, sizeof(text));
}

/* Not a word, and no end. */
__attribute__((unused)) static void nothing(void)
{
	channel();
	for (;;)
		pause();
}

/* Busy for ever. */
__attribute__((unused)) static void spin(void)
{
	for (;;)
		__asm__ volatile("pause");
}

/* An oops of the kernel. */
__attribute__((unused)) static void crash(void)
{
	int fd;

	mkdir("/proc", 0755);
	mount("none", "/proc", "proc", 0, "");
	fd = open("/proc/sysrq-trigger", O_WRONLY);
	(void)!write(fd, "c", 1);
}

/* The first program ends, which the kernel answers with a panic. */
__attribute__((unused)) static void leave(void)
{
}

/* An end without a word. */
__attribute__((unused)) static void restart(void)
{
	reboot(RB_AUTOBOOT);
}

int main(int argc, char **argv)
{
	if (getpid() != 1) {
		execv(REAL, argv);
		return 127;
	}
	(void)argc;
	FAULT();
	return 0;
}
