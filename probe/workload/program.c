// SPDX-License-Identifier: GPL-2.0-or-later
#include "workload/program.h"

#include "arch/mark.h"
#include "workload/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What a pipe holds: all that a program can have said before its end and nobody has read. */
#define PIPE_BYTES 65536

/* What is no end of a line, and no beginning of one. */
#define BLANKS "\n\r\t "

static _Noreturn void become_program(const struct program *program)
{
	static char *const usual[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
				      "LC_ALL=C", NULL};
	char *const *environment = usual;
	int input;
	sigset_t none;

	if (!program->in_tree)
		mark_account(program->account);
	input = open(program->in_tree ? COMMAND_INPUT : "/dev/null", O_RDONLY);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(input, STDIN_FILENO);
	dup2(program->output[1], STDOUT_FILENO);
	dup2(program->output[1], STDERR_FILENO);
	setsid();
	if (program->in_tree) {
		environment = command_enter();
		mark_account(program->account);
	}
	execve(program->word[0], program->word, environment);
	dprintf(STDERR_FILENO, "%s", strerror(errno));
	if (program->in_tree)
		abort(); /* no status that a command can leave with */
	_exit(127);
}

/* Keep the beginning of the first line, and that of the last line which is not blank. */
static void keep(struct program *program, const char *piece, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		char c = piece[i] ? piece[i] : '?';

		if (program->kept && program->said_bytes < OUTPUT_BYTES)
			program->kept[program->said_bytes] = c;
		program->said_bytes++;
		program->past_first |= c == '\n';
		if (!program->past_first && program->first_size < FIRST_BYTES)
			program->first_line[program->first_size++] = c;
		if (c == '\n')
			program->line_ended = true;
		if (program->line_ended && strchr(BLANKS, c))
			continue;
		if (program->line_ended)
			program->last_size = 0;
		program->line_ended = false;
		if (program->last_size < SAID_BYTES)
			program->last_line[program->last_size++] = c;
	}
}

/* Take what there is of its output; how much that was, 0 at its end, -1 if there is none yet. */
static ssize_t take(struct program *program)
{
	char piece[4096];
	ssize_t n = read(program->output[0], piece, sizeof(piece));

	if (n > 0)
		keep(program, piece, (size_t)n);
	return n;
}

/* Guest time until `end`; false if that is over. */
static bool until(const struct timespec *end, struct timespec *left)
{
	struct timespec now;
	long left_ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	left_ns = (end->tv_sec - now.tv_sec) * 1000000000L + end->tv_nsec - now.tv_nsec;
	*left = (struct timespec){left_ns / 1000000000L, left_ns % 1000000000L};
	return left_ns > 0;
}

/* A daemon that it leaves behind may keep the pipe open, and say more. */
static void take_rest(struct program *program)
{
	ssize_t n;

	for (size_t taken = 0; taken < PIPE_BYTES; taken += (size_t)n) {
		n = take(program);
		if (n <= 0)
			return;
	}
}

/* Read its output until it has ended; false if it has not by the deadline. */
static bool listen_until_end(struct program *program, pid_t child, const struct timespec *end)
{
	struct pollfd ready[2] = {{.fd = program->output[0], .events = POLLIN},
				  {.fd = program->child_ended, .events = POLLIN}};
	struct timespec left;

	while (until(end, &left)) {
		struct signalfd_siginfo signal;
		siginfo_t changed = {0};

		if (program->monitor)
			monitor_wake(program->monitor, &left);
		if (ppoll(ready, 2, &left, NULL) <= 0)
			continue;
		if (ready[0].revents && !take(program))
			ready[0].fd = -1; /* it has closed its output, and lives on */
		if (!ready[1].revents ||
		    read(program->child_ended, &signal, sizeof(signal)) != sizeof(signal))
			continue;
		/* Not reaped yet: its process group is still its own. */
		if (!waitid(P_PID, (id_t)child, &changed, WEXITED | WNOHANG | WNOWAIT) &&
		    changed.si_pid == child)
			return true;
	}
	return false;
}

void program_prepare(struct program *program)
{
	sigset_t child;

	program->output[0] = program->output[1] = -1;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &program->mask);
	program->child_ended = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (program->child_ended < 0 || pipe2(program->output, O_CLOEXEC) ||
	    fcntl(program->output[0], F_SETFL, O_NONBLOCK))
		program->error = errno;
}

void program_carry_out(struct program *program)
{
	struct timespec end;
	pid_t child;

	if (program->error)
		return;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += (time_t)(program->deadline_ms / 1000);
	end.tv_nsec += (long)(program->deadline_ms % 1000) * 1000000;
	child = fork();
	if (child == 0)
		become_program(program);
	if (child < 0) {
		program->error = errno;
		return;
	}
	close(program->output[1]);
	program->output[1] = -1;
	program->ended = listen_until_end(program, child, &end);
	if (program->alone || !program->ended)
		kill(-child, SIGKILL);
	if (!program->ended)
		kill(child, SIGKILL); /* that may not have come to make the group */
	waitpid(child, &program->status, 0);
	take_rest(program);
}

bool program_finish(struct program *program)
{
	const int fds[] = {program->output[0], program->output[1], program->child_ended};
	bool started = !program->error;

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	sigprocmask(SIG_SETMASK, &program->mask, NULL);
	while (program->last_size && strchr(BLANKS, program->last_line[program->last_size - 1]))
		program->last_size--;
	program->last_line[program->last_size] = '\0';
	if (!started)
		return false;
	if (!program->ended)
		program->error = ETIMEDOUT;
	else if (!WIFEXITED(program->status) || WEXITSTATUS(program->status) != program->expected)
		program->error = ECANCELED;
	return !program->error;
}

bool program_run(struct program *program)
{
	program_prepare(program);
	program_carry_out(program);
	return program_finish(program);
}

const char *program_failure(const struct program *program)
{
	static char text[FAILURE_BYTES];
	int status = program->status;
	char how[64];

	if (!program->ended && program->error != ETIMEDOUT)
		snprintf(how, sizeof(how), "could not be started: %s", strerror(program->error));
	else if (!program->ended)
		snprintf(how, sizeof(how), "did not end in %lu ms of guest time",
			 program->deadline_ms);
	else if (WIFSIGNALED(status))
		snprintf(how, sizeof(how), "was killed by signal %d", WTERMSIG(status));
	else
		snprintf(how, sizeof(how), "left with status %d", WEXITSTATUS(status));
	snprintf(text, sizeof(text), "%.200s %s%s%s", program->word[0], how,
		 *program->last_line ? ": " : "", program->last_line);
	return text;
}

const char *program_reason(const struct program *program)
{
	return *program->last_line ? program->last_line : program_failure(program);
}
