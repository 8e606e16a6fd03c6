// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Init of a guest that runs operations back to back between the plugin's markers, then spins in
 * user space until what they left to be done later is done. It says of each region to the second
 * serial line how many instructions the clock counted: REGION OPERATIONS INSTRUCTIONS.
 */
#include "../../probe/arch/mark.h"
#include "init.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHIFT	   3
#define WARMUP	   64
#define SPIN_INSNS (20 * 250000) /* 20 ticks of 4 ms */

static void spin(void)
{
	uint64_t until = arch_counter() + ((uint64_t)SPIN_INSNS << SHIFT);

	while (arch_counter() < until)
		;
}

static void creat_unlink(void)
{
	int fd = open("file", O_CREAT | O_WRONLY | O_EXCL | O_CLOEXEC, 0644);

	check(fd >= 0 && !close(fd) && !unlink("file"), "creat_unlink");
}

static void open_close(void)
{
	int fd = open("/data/kept", O_RDONLY | O_CLOEXEC);

	check(fd >= 0 && !close(fd), "open_close");
}

static void mkdir_rmdir(void)
{
	check(!mkdir("folder", 0755) && !rmdir("folder"), "mkdir_rmdir");
}

static void status(void)
{
	struct stat stat_buf;

	check(!stat("/data/kept", &stat_buf), "status");
}

/* A task of its own each time, which is started, runs and is waited for. */
static void fork_exit(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	check(waitpid(child, NULL, 0) == child, "fork_exit");
}

static int to_peer[2], from_peer[2];

/* A task that was in the kernel before the region began. */
static void start_peer(void)
{
	char byte;

	check(!pipe(to_peer) && !pipe(from_peer), "pipes");
	if (!fork()) {
		while (read(to_peer[0], &byte, 1) == 1 && write(from_peer[1], &byte, 1) == 1)
			;
		_exit(0);
	}
}

static void turn(void)
{
	char byte = 0;

	check(write(to_peer[1], &byte, 1) == 1 && read(from_peer[0], &byte, 1) == 1, "turn");
}

static const struct {
	void (*operation)(void);
	unsigned int count;
} bulks[] = {
	{creat_unlink, 500}, {open_close, 500}, {mkdir_rmdir, 500},
	{status, 500},	     {fork_exit, 50},	{turn, 200},
};

static void region(unsigned int id, void (*operation)(void), unsigned int count)
{
	uint64_t first, last;

	for (int i = 0; i < WARMUP && count; i++)
		operation();
	spin();
	mark_announce(id);
	first = arch_mark_begin();
	for (unsigned int i = 0; i < count; i++)
		operation();
	spin();
	last = arch_mark_end();
	fprintf(port, "%u %u %llu\n", id, count, (unsigned long long)(last - first) >> SHIFT);
	fflush(port);
}

/* The program is in the root of its archive, where no directory but /dev is. */
int main(void)
{
	prepare();
	start_peer();
	mark_announce(0);
	arch_mark_begin(); /* wakes the plugin up */
	arch_mark_end();
	for (unsigned int i = 0; i < sizeof(bulks) / sizeof(bulks[0]); i++)
		region(REGION_WHOLE + i, bulks[i].operation, bulks[i].count);
	fprintf(port, "end 0 0\n");
	fflush(port);
	tcdrain(fileno(port));
	reboot(RB_AUTOBOOT);
}
