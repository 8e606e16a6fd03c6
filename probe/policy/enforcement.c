// SPDX-License-Identifier: GPL-2.0-or-later
#include "policy/enforcement.h"

#include "policy/become.h"
#include "policy/tomoyo.h"
#include "protocol/channel.h"
#include "protocol/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Guest time in which the kernel's message has to come: audit hands it to a thread first. */
#define MESSAGE_MS 200

struct access {
	const char *name;
	int (*attempt)(const char *path); /* 0 or an errno */
};

static int opened(int fd)
{
	int error = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return error;
}

static int attempt_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char byte;

	if (fd >= 0 && read(fd, &byte, 1) < 0) {
		int error = errno;

		close(fd);
		return error;
	}
	return opened(fd);
}

static int attempt_write(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "x", 1) != 1) {
		int error = errno;

		close(fd);
		return error;
	}
	return opened(fd);
}

/* "FROM:TO": take a byte from one file and put it into the other, as information flows. */
static int attempt_copy(const char *path)
{
	const char *to = strchr(path, ':');
	char from[256];
	int error;

	if (!to)
		return EINVAL;
	snprintf(from, sizeof(from), "%.*s", (int)(to - path), path);
	error = attempt_read(from);
	/* Only the second half may be what is denied. */
	return error ? ECANCELED : attempt_write(to + 1);
}

static int attempt_create(const char *path)
{
	int error = opened(open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));

	if (!error)
		unlink(path);
	return error;
}

static int attempt_execute(const char *path)
{
	char *const argument[] = {(char *)path, NULL};
	char *const environment[] = {NULL};
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	alarm(5);
	execve(path, argument, environment);
	return errno;
}

static int attempt_stat(const char *path)
{
	struct stat status;

	return stat(path, &status) ? errno : 0;
}

static int attempt_chmod(const char *path)
{
	return chmod(path, 0640) ? errno : 0;
}

/* A new file must be readable with what was written to it. */
static int attempt_reread(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), error = 0;

	if (fd < 0)
		return errno;
	if (write(fd, "x", 1) != 1)
		error = errno;
	close(fd);
	if (!error)
		error = attempt_read(path);
	unlink(path);
	return error;
}

static const struct access accesses[] = {
	{"read", attempt_read},	      {"write", attempt_write},	  {"create", attempt_create},
	{"execute", attempt_execute}, {"stat", attempt_stat},	  {"copy", attempt_copy},
	{"chmod", attempt_chmod},     {"reread", attempt_reread},
};

static const struct access *find_access(const char *name)
{
	for (size_t i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++) {
		if (!strcmp(accesses[i].name, name))
			return &accesses[i];
	}
	return NULL;
}

/* Read a check's line; false, with an error sent, if it is none. */
static bool read_check(const char *line, struct words *words)
{
	const char *wrong = text_split(line, words);

	if (!wrong && (words->count < 3 || words->count > 4))
		wrong = "a wrong number of words";
	if (!wrong && !find_access(words->word[1]))
		wrong = "no such access";
	if (wrong)
		channel_error("enforcement check '%.60s': %s", line, wrong);
	return !wrong;
}

/*
 * Try in a child, confined if `work` is given. Returns an errno, 0, or a negative number if
 * nothing could be tried. What the child finds is left in shared memory: a pipe would need the
 * policy's permission.
 */
static int attempt(const struct request *request, const struct words *check, const char *work)
{
	const struct access *access = find_access(check->word[1]);
	int *found = mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			  -1, 0);
	int result;
	pid_t child;

	if (found == MAP_FAILED)
		return -errno;
	*found = -ECHILD;
	child = fork();
	if (child == 0) {
		if (work && become(request, work))
			_exit(1);
		/* A program that is started leaves this as it is. */
		*found = 0;
		*found = access->attempt(check->word[2]);
		_exit(0);
	}
	while (child > 0 && waitpid(child, NULL, 0) != child)
		;
	result = child < 0 ? -EAGAIN : *found;
	munmap(found, sizeof(*found));
	return result;
}

static const char *word_for(int error)
{
	if (!error)
		return "allowed";
	return error == EACCES || error == EPERM ? "denied" : "failed";
}

static int open_log(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/* Wait for a line of the kernel's log that contains `text`. */
static bool find_message(int log, const char *text, char *message, size_t size)
{
	const struct timespec moment = {.tv_nsec = 2000000};
	char record[2048];

	if (log < 0)
		return false;
	for (int waited_ms = 0; waited_ms < MESSAGE_MS; waited_ms += 2) {
		ssize_t n;

		while ((n = read(log, record, sizeof(record) - 1)) > 0 || errno == EPIPE) {
			char *line, *end;

			if (n <= 0)
				continue;
			record[n] = '\0';
			line = strchr(record, ';');
			end = strchr(record, '\n');
			if (end)
				*end = '\0';
			if (line && strstr(line, text)) {
				snprintf(message, size, "%s", line + 1);
				return true;
			}
		}
		nanosleep(&moment, NULL);
	}
	return false;
}

/* Is it one of the names on the line of the step, `try NAME...`? Without names, all are. */
static bool named(const struct words *step, const char *name)
{
	for (size_t i = 1; i < step->count; i++) {
		if (!strcmp(step->word[i], name))
			return true;
	}
	return step->count < 2;
}

void enforcement_before(const struct request *request, const char *line)
{
	static struct words check, step;
	const char *wrong = text_split(line, &step);
	char key[96];

	if (wrong) {
		channel_error("step '%.60s': %s", line, wrong);
		return;
	}

	for (size_t i = 0; i < request->n_checks; i++) {
		int error;

		if (!read_check(request->check[i], &check) || !named(&step, check.word[0]))
			continue;
		error = attempt(request, &check, NULL);
		if (error == ENOENT)
			continue;
		snprintf(key, sizeof(key), "proof.%.60s.before", check.word[0]);
		channel_fact(key, "%s", word_for(error));
	}
}

static void make_check(const struct request *request, const struct words *check, const char *work)
{
	char key[96], message[600];
	int log = open_log(), error;

	tomoyo_log_clear();
	error = attempt(request, check, work);

	if (error < 0) {
		channel_error("enforcement check %.60s: no worker could try: %s", check->word[0],
			      strerror(-error));
	} else {
		snprintf(key, sizeof(key), "proof.%.60s", check->word[0]);
		channel_fact(key, "%s", word_for(error));
		snprintf(key, sizeof(key), "proof.%.60s.errno", check->word[0]);
		channel_fact(key, "%s", error ? strerrorname_np(error) : "0");
	}
	snprintf(key, sizeof(key), "proof.%.60s.message", check->word[0]);
	if (error >= 0 && check->count == 4 &&
	    (tomoyo_log_find(check->word[3], message, sizeof(message)) ||
	     find_message(log, check->word[3], message, sizeof(message))))
		channel_fact(key, "%s", message);
	if (log >= 0)
		close(log);
}

void enforcement_check(const struct request *request, const char *work)
{
	struct words check;

	for (size_t i = 0; i < request->n_checks; i++) {
		if (read_check(request->check[i], &check))
			make_check(request, &check, work);
	}
}
