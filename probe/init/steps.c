// SPDX-License-Identifier: GPL-2.0-or-later
#include "init/steps.h"

#include "init/thread.h"
#include "net/labels.h"
#include "protocol/text.h"
#include "workload/program.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

struct action {
	const char *name;
	size_t least, most; /* words after the action's own */
	const char *(*act)(char *const *word);
};

static char failure[FAILURE_BYTES];

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

static const char *act_run(char *const *word)
{
	struct program program = {.word = word, .deadline_ms = PROGRAM_MS};

	if (program_run(&program))
		return NULL;
	snprintf(failure, sizeof(failure), "%s", program_failure(&program));
	errno = program.error;
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

static const char *done(int error, const char *what, const char *with)
{
	errno = -error;
	return error ? fail(what, with) : NULL;
}

static const char *act_network(char *const *word)
{
	(void)word;
	return done(labels_network(), "joining", "network namespaces");
}

static const char *act_cipso(char *const *word)
{
	(void)word;
	return done(labels_cipso(), "labelling packets by", "CIPSO");
}

static const char *act_calipso(char *const *word)
{
	(void)word;
	return done(labels_calipso(), "labelling packets by", "CALIPSO");
}

static const char *act_secmark(char *const *word)
{
	return done(labels_secmark(word[0]), "marking packets", word[0]);
}

static const char *act_ipsec(char *const *word)
{
	return done(labels_ipsec(word[0], word[0] ? word[1] : NULL), "setting up IPsec",
		    word[0] ? word[0] : "without labels");
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
	{"network", 0, 0, act_network},
	{"cipso", 0, 0, act_cipso},
	{"calipso", 0, 0, act_calipso},
	{"secmark", 1, 1, act_secmark},
	{"ipsec", 0, 2, act_ipsec},
};

const char *step_run(const char *line)
{
	static struct words words;
	const char *wrong = text_split(line, &words);

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
