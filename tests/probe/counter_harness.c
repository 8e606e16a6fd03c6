// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts a stretch, as a worker does: counter_harness LINE TEXT TEXT TEXT. The file that LINE names
 * holds one text after the other, each time that it is read around the stretch. Prints what was
 * found: a name and a number in a line.
 */
#include "observe/counter.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char **text;

/* In place of pread() in counter.c. Opening reads the first text, and then the stretch does. */
ssize_t harness_pread(int fd, void *buffer, size_t size, off_t at)
{
	static unsigned int calls;
	const char *content = text[calls ? calls - 1 : 0];

	(void)fd;
	(void)at;
	calls++;
	return (ssize_t)snprintf(buffer, size, "%.*s", (int)size - 1, content);
}

int main(int argc, char **argv)
{
	static struct request request;
	static struct counter counter;
	const char *failed;
	pid_t pid;

	if (argc != 5)
		return 2;
	text = argv + 2;
	request.counter[request.n_counters++] = argv[1];
	failed = counter_open(&counter, &request);
	if (failed) {
		puts(failed);
		return 1;
	}
	pid = counter_start(&counter);
	counter_begin(&counter);
	counter_end(&counter);
	for (unsigned int i = 0; i < counter.n_names; i++)
		printf("%s %" PRIu32 "\n", counter.name[i], counter_moved(&counter, i));
	kill(pid, SIGKILL);
	return 0;
}
