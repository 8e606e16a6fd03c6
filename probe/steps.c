// SPDX-License-Identifier: GPL-2.0-or-later
#include "steps.h"

#include "thread.h"
#include "words.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

/* Guest time that a program may take. */
#define PROGRAM_MS 120000

/* How much of a program's output is kept: the end of it has the reason of a failure. */
#define SAID_BYTES 400

struct action {
	const char *name;
	size_t least, most; /* words after the action's own */
	const char *(*act)(char *const *word);
};

static char failure[SAID_BYTES + 300];

static const char *fail(const char *what, const char *path)
{
	int error = errno;

	snprintf(failure, sizeof(failure), "%s %.200s: %s", what, path, strerror(error));
	errno = error;
	return failure;
}

static const char *write_all(const char *path, const char *data, size_t size, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0666);
	size_t done = 0;
	ssize_t n;

	if (fd < 0)
		return fail("opening", path);
	/* Some files take a page in one call, and return how much that was: the rules of Smack. */
	do {
		n = write(fd, data + done, size - done);
		done += n > 0 ? (size_t)n : 0;
	} while (n > 0 && done < size);
	if (done < size) {
		errno = n < 0 ? errno : EIO;
		fail("writing", path);
		n = -1;
	}
	/* Some files of the kernel answer only when they are closed. */
	if (close(fd) && n >= 0)
		return fail("writing", path);
	return n < 0 ? failure : NULL;
}

static const char *act_write(char *const *word)
{
	return write_all(word[0], word[1], strlen(word[1]), O_WRONLY);
}

static const char *act_file(char *const *word)
{
	const char *failed =
		write_all(word[0], word[1], strlen(word[1]), O_WRONLY | O_CREAT | O_TRUNC);

	if (failed)
		return failed;
	return chmod(word[0], 0666) ? fail("setting the mode of", word[0]) : NULL;
}

static const char *act_load(char *const *word)
{
	int fd = open(word[1], O_RDONLY | O_CLOEXEC);
	const char *failed;
	struct stat status;
	void *data;

	if (fd < 0 || fstat(fd, &status)) {
		failed = fail("opening", word[1]);
		if (fd >= 0)
			close(fd);
		return failed;
	}
	data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (data == MAP_FAILED)
		return fail("reading", word[1]);
	failed = write_all(word[0], data, (size_t)status.st_size, O_WRONLY);
	munmap(data, (size_t)status.st_size);
	return failed;
}

static const char *act_mkdir(char *const *word)
{
	return mkdir(word[0], 0755) && errno != EEXIST ? fail("making", word[0]) : NULL;
}

static const char *act_mount(char *const *word)
{
	/* The kernel or an earlier step may have mounted it. */
	return mount(word[0], word[1], word[0], 0, word[2]) && errno != EBUSY
		       ? fail("mounting", word[1])
		       : NULL;
}

static const char *act_label(char *const *word)
{
	return lsetxattr(word[0], word[1], word[2], strlen(word[2]), 0) ? fail("labelling", word[0])
									: NULL;
}

static const char *act_visit(char *const *word)
{
	DIR *directory = opendir(word[0]);
	const char *failed = NULL;
	struct dirent *entry;
	struct stat status;

	if (!directory)
		return fail("opening", word[0]);
	while (!failed && (entry = readdir(directory))) {
		if (fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
			failed = fail("looking at", entry->d_name);
	}
	closedir(directory);
	return failed;
}

/* A process that is there already may not have the right to go there again. */
static const char *act_enter(char *const *word)
{
	char now[256];
	int fd = open(word[0], O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, now, sizeof(now) - 1);
	const char *failed = n < 0 ? fail("reading", word[0]) : NULL;

	if (fd >= 0)
		close(fd);
	if (failed)
		return failed;
	now[n] = '\0';
	now[strcspn(now, "\n")] = '\0';
	return strcmp(now, word[1]) ? act_write(word) : NULL;
}

static _Noreturn void become_program(char *const *word, int output)
{
	static char *const environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
					    "LC_ALL=C", NULL};
	int input = open("/dev/null", O_RDONLY);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(input, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	setsid();
	execve(word[0], word, environment);
	dprintf(STDERR_FILENO, "%s", strerror(errno));
	_exit(127);
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Keep the end of what comes until the program ends, and a little of what comes later. */
static bool listen_until_end(pid_t child, int fd, char *said, int *status)
{
	long end_ms = now_ms() + PROGRAM_MS;
	size_t size = 0;
	bool ended = false;

	while (now_ms() < end_ms) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		char piece[SAID_BYTES - 1];
		ssize_t n = 0;

		if (poll(&ready, 1, ended ? 0 : 20) > 0)
			n = read(fd, piece, sizeof(piece));
		if (n > 0) {
			size_t room = sizeof(piece) - (size_t)n;
			size_t keep = size < room ? size : room;

			memmove(said, said + size - keep, keep);
			memcpy(said + keep, piece, (size_t)n);
			size = keep + (size_t)n;
			said[size] = '\0';
		} else if (ended) {
			return true;
		}
		/* A daemon that it leaves behind may keep the pipe open. */
		ended = ended || waitpid(child, status, WNOHANG) == child;
	}
	return false;
}

/* The last line of a program's output that is not empty. */
static const char *last_line(char *said)
{
	char *line;
	size_t size = strlen(said);

	while (size && (said[size - 1] == '\n' || said[size - 1] == ' '))
		said[--size] = '\0';
	line = strrchr(said, '\n');
	return line ? line + 1 : said;
}

static const char *act_run(char *const *word)
{
	char said[SAID_BYTES] = "";
	int output[2], status = 0;
	pid_t child;
	bool ended;

	if (pipe2(output, O_CLOEXEC))
		return fail("making a pipe for", word[0]);
	child = fork();
	if (child == 0)
		become_program(word, output[1]);
	close(output[1]);
	if (child < 0) {
		close(output[0]);
		return fail("starting", word[0]);
	}
	ended = listen_until_end(child, output[0], said, &status);
	close(output[0]);
	if (!ended) {
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
	if (ended && WIFEXITED(status) && !WEXITSTATUS(status))
		return NULL;
	errno = ended ? ECANCELED : ETIMEDOUT;
	snprintf(failure, sizeof(failure), "%.200s %s %d%s%s", word[0],
		 !ended ? "did not end; killed by signal"
			: (WIFEXITED(status) ? "left with status" : "was killed by signal"),
		 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), *said ? ": " : "",
		 last_line(said));
	return failure;
}

/* Into a keyring of this process, where the kernel looks when this process asks it for a key. */
static const char *act_key(char *const *word)
{
	long key = syscall(SYS_add_key, word[0], word[1], word[2], strlen(word[2]),
			   KEY_SPEC_PROCESS_KEYRING);

	return key < 0 ? fail("adding the key", word[1]) : NULL;
}

static const char *act_background(char *const *word)
{
	const char *failed = thread_to_background(word[0]);

	return failed ? fail(failed, word[0]) : NULL;
}

static const struct action actions[] = {
	{"run", 1, MAX_WORDS, act_run},
	{"write", 2, 2, act_write},
	{"load", 2, 2, act_load},
	{"file", 2, 2, act_file},
	{"mkdir", 1, 1, act_mkdir},
	{"mount", 2, 3, act_mount},
	{"label", 3, 3, act_label},
	{"visit", 1, 1, act_visit},
	{"enter", 2, 2, act_enter},
	{"key", 3, 3, act_key},
	{"background", 1, 1, act_background},
};

const char *step_run(const char *line)
{
	static struct words words;
	const char *wrong = words_split(line, &words);

	errno = EINVAL;
	for (size_t i = 0; !wrong && i < sizeof(actions) / sizeof(actions[0]); i++) {
		const struct action *action = &actions[i];

		if (strcmp(words.word[0], action->name))
			continue;
		if (words.count - 1 < action->least || words.count - 1 > action->most)
			wrong = "a wrong number of words";
		else
			return action->act(words.word + 1);
	}
	snprintf(failure, sizeof(failure), "'%.40s': %s", line, wrong ? wrong : "no such action");
	return failure;
}
