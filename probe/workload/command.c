// SPDX-License-Identifier: GPL-2.0-or-later
#include "workload/command.h"

#include "layout/own_memory.h"
#include "policy/become.h"
#include "protocol/channel.h"
#include "protocol/text.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TREE "/setup/tree"

/* Of one fact; channel_fact() takes a little more. */
#define PIECE_BYTES 1000

#define DESCRIPTORS 16 /* that a walk through the tree holds */

static struct {
	const struct request *request;
	const char *work;
	struct words place; /* DIRECTORY STATUS */
	struct words variable[MAX_ENVIRONMENT];
	char *environment[MAX_ENVIRONMENT + 1];
} command BULK;

/* Copy a file, and leave nothing of it in the initramfs: both are memory. */
static bool copy_file(const char *from, const char *to, const struct stat *status)
{
	static char piece[1 << 16] BULK;
	const struct timespec times[2] = {status->st_mtim, status->st_mtim};
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ssize_t n = -1;

	while (in >= 0 && out >= 0 && (n = read(in, piece, sizeof(piece))) > 0) {
		if (write(out, piece, (size_t)n) != n) {
			errno = ENOSPC;
			n = -1;
			break;
		}
	}
	if (!n && (fchmod(out, status->st_mode & 07777) || futimens(out, times)))
		n = -1;
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return !n && !unlink(from);
}

static int copy(const char *from, const struct stat *status, int type, struct FTW *walk)
{
	char to[4096], target[4096];
	ssize_t n;

	(void)walk;
	if (snprintf(to, sizeof(to), "%s%s", command.work, from + strlen(TREE)) >=
	    (int)sizeof(to)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (type == FTW_D)
		return from[strlen(TREE)] && (mkdir(to, 0755) || chmod(to, status->st_mode & 07777))
			       ? -1
			       : 0;
	if (type == FTW_F)
		return copy_file(from, to, status) ? 0 : -1;
	n = readlink(from, target, sizeof(target) - 1);
	if (n < 0)
		return -1;
	target[n] = '\0';
	return symlink(target, to);
}

/* Show the command what the guest has of the kernel. */
static const char *bind_kernel(void)
{
	static const char *const seen[] = {"/dev", "/proc", "/sys"};
	char path[4096];

	for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", command.work, seen[i]);
		if (mount(seen[i], path, NULL, MS_BIND | MS_REC, NULL))
			return "binding what the kernel shows into the tree";
	}
	return NULL;
}

const char *command_prepare(const struct request *request, const char *work)
{
	command.request = request;
	command.work = work;
	/* request_parse() has seen that these can be taken apart. */
	text_split(request->command[0], &command.place);
	for (size_t i = 0; i < request->n_environment; i++) {
		text_split(request->environment[i], &command.variable[i]);
		command.environment[i] = command.variable[i].word[0];
	}
	if (nftw(TREE, copy, DESCRIPTORS, FTW_PHYS))
		return "copying the tree of the command";
	return bind_kernel();
}

int command_expected(void)
{
	return atoi(command.place.word[1]);
}

char *const *command_enter(void)
{
	const char *failed = become(command.request, command.work);

	if (!failed && chroot(command.work))
		failed = "entering the tree";
	if (!failed && chdir(command.place.word[0]))
		failed = "entering the directory";
	if (failed) {
		dprintf(STDERR_FILENO, "%s: %s", failed, strerror(errno));
		abort();
	}
	return command.environment;
}

void command_facts(const struct program *program)
{
	size_t kept = program->said_bytes < OUTPUT_BYTES ? program->said_bytes : OUTPUT_BYTES;
	char key[32];

	for (size_t at = 0; at < kept; at += PIECE_BYTES) {
		size_t size = kept - at < PIECE_BYTES ? kept - at : PIECE_BYTES;

		snprintf(key, sizeof(key), "command.output.%02zu", at / PIECE_BYTES);
		channel_fact(key, "%.*s", (int)size, program->kept + at);
		channel_drain();
	}
	channel_fact("command.output_bytes", "%zu", program->said_bytes);
	if (program->ended && WIFEXITED(program->status))
		channel_fact("command.status", "%d", WEXITSTATUS(program->status));
}
