// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A command whose system calls and user instructions are known: children and a thread make calls,
 * and a loop turns. It says what it was given, and ends as it is told: STATUS [TURNS]; or it harms
 * its guest: forks, crashes.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 3
#define CALLS	 500

static void turn(unsigned int turns)
{
	asm volatile("1:\tdec %0\n\tjnz 1b" : "+r"(turns) : : "cc");
}

static void *call(void *unused)
{
	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	return unused;
}

int main(int argc, char **argv)
{
	char line[100] = "", place[100] = "";
	pthread_t thread;
	struct stat status;
	const char *variable = getenv("GIVEN");

	if (argc < 2)
		return 100;
	while (!strcmp(argv[1], "forks"))
		fork();
	if (!strcmp(argv[1], "crashes"))
		return (int)write(open("/proc/sysrq-trigger", O_WRONLY), "c", 1);
	if (argc > 2)
		turn((unsigned int)atoi(argv[2]));
	for (int i = 0; i < CHILDREN; i++) {
		if (!fork()) {
			call(NULL);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	pthread_create(&thread, NULL, call, NULL);
	pthread_join(thread, NULL);
	for (int i = 0; i < CALLS; i++)
		stat("/", &status);
	if (!fgets(line, sizeof(line), stdin) || !getcwd(place, sizeof(place)))
		return 101;
	printf("read %sin %s, GIVEN is %s, HOME is %s\n", line, place, variable, getenv("HOME"));
	fprintf(stderr, "uid %d\n", (int)getuid());
	return atoi(argv[1]);
}
