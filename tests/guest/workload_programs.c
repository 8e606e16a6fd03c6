// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All programs of a workload in one; the first word says which. Each notes itself in LOG, so that
 * what comes later can tell what came before. Called nsenter it becomes what it is given, called
 * network it does nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LOG "/data/log"

static void note(const char *word)
{
	int fd = open(LOG, O_WRONLY | O_CREAT | O_APPEND, 0644);

	dprintf(fd, "%s.", word);
	close(fd);
}

static int endpoint(struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX, .sun_path = "/data/socket"};
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static void sleep_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* Answer with one byte for each; 'q' ends it. It keeps its output, as careless daemons do. */
static void answer(void)
{
	struct sockaddr_un address;
	int listener = endpoint(&address), client;
	char byte = 0;

	sleep_ms(200);
	bind(listener, (struct sockaddr *)&address, sizeof(address));
	listen(listener, 8);
	while (byte != 'q' && (client = accept(listener, NULL, NULL)) >= 0) {
		while (byte != 'q' && read(client, &byte, 1) == 1) {
			if (write(client, &byte, 1) != 1)
				break;
		}
		close(client);
	}
}

static int serve(const char *name)
{
	note("service");
	puts("starting");
	fflush(stdout);
	if (fork())
		return 0;
	setsid();
	/* The parent never waits for it: what has ended must not count as a process that is left. */
	while (fork())
		pause();
	prctl(PR_SET_NAME, name);
	answer();
	return 0;
}

static int reach(void)
{
	struct sockaddr_un address;
	int fd = endpoint(&address);

	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	printf("connect: %s\n", strerror(errno));
	exit(1);
}

/* Exchange so many bytes; how many came back. */
static int exchange(int count, char byte)
{
	int fd = reach(), done = 0;

	while (done < count && write(fd, &byte, 1) == 1 && read(fd, &byte, 1) == 1)
		done++;
	close(fd);
	return done;
}

static int log_bytes(void)
{
	struct stat status;

	return stat(LOG, &status) ? -1 : (int)status.st_size;
}

/* A child in the client's process group, which is not to outlive it: it holds the lock as well. */
static void leave_behind(void)
{
	int fd = open("/data/lock", O_WRONLY | O_CREAT, 0644);

	if (flock(fd, LOCK_EX | LOCK_NB)) {
		puts("an earlier client has left somebody behind");
		exit(1);
	}
	if (fork())
		return;
	for (;;)
		pause();
}

static int client(int units)
{
	int done;

	leave_behind();
	note("client");
	done = exchange(units, 'x');
	/* Far more than a pipe holds. */
	for (int i = 0; i < 5000; i++)
		printf("line %d of what nobody needs\n", i);
	printf("units=%d failed=%d log=%d\n\n", done, units - done, log_bytes());
	return 0;
}

static int show_log(void)
{
	char text[200] = "";
	int fd = open(LOG, O_RDONLY);

	if (read(fd, text, sizeof(text) - 1) < 0)
		return 1;
	printf("%s\nand more\n", text);
	return 0;
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	int number = argc > 2 ? atoi(argv[2]) : 0;

	if (strstr(argv[0], "nsenter"))
		return execv(argv[2], argv + 2);
	if (strstr(argv[0], "network"))
		return 0;
	if (!strcmp(word, "note"))
		note(argv[2]);
	else if (!strcmp(word, "serve"))
		return serve(argc > 2 ? argv[2] : "a (served) name");
	else if (!strcmp(word, "ready"))
		close(reach());
	else if (!strcmp(word, "log"))
		return show_log();
	else if (!strcmp(word, "client"))
		return client(number);
	else if (!strcmp(word, "stop-service"))
		printf("units=%d failed=0\n", exchange(1, 'q'));
	else if (!strcmp(word, "bytes"))
		printf("a%cb\xff%01200d\n", 0, 7);
	else
		printf("no\nit is %s\n", word);
	fflush(stdout);
	if (!strcmp(word, "hang") || !strcmp(word, "flood")) {
		signal(SIGTERM, SIG_IGN);
		while (!strcmp(word, "flood"))
			puts("again");
		close(STDOUT_FILENO);
		close(STDERR_FILENO);
		for (;;)
			pause();
	}
	if (!strcmp(word, "fail"))
		return number;
	if (!strcmp(word, "die"))
		raise(SIGKILL);
	return 0;
}
