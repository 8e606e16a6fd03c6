// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/assistant.h"

#include "arch/sys.h"
#include "init/steps.h"
#include "observe/counter.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static int request_fd = -1, answer_fd = -1;

static int ask_assistant(char what)
{
	int error = -EPIPE;

	if (write(request_fd, &what, 1) == 1 &&
	    read(answer_fd, &error, sizeof(error)) != sizeof(error))
		error = -EPIPE;
	return error;
}

static int ask_drop(void)
{
	return ask_assistant('d');
}

static int ask_prepare(void)
{
	return ask_assistant('p');
}

const struct assistant *worker_assistant(void)
{
	static const struct assistant assistant = {.drop_caches = ask_drop, .prepare = ask_prepare};

	return &assistant;
}

static int drop_caches(void)
{
	int fd = sys_open("/proc/sys/vm/drop_caches", O_WRONLY, 0);
	long n;

	if (fd < 0)
		return fd;
	/* What is dirty cannot be dropped. */
	sync();
	n = sys_write(fd, "3", 1);
	sys_close(fd);
	return n < 0 ? (int)n : 0;
}

static int prepare(const struct request *request)
{
	for (size_t i = 0; i < request->n_before; i++) {
		if (step_run(request->before[i]))
			return errno ? -errno : -EIO;
	}
	return 0;
}

/* A process that keeps the privileges which the worker gives up. */
int assistant_start(const struct request *asked)
{
	int request[2], answer[2];
	pid_t pid, counter = asked->n_counters ? counter_start() : 0;
	char what;

	if (counter < 0)
		return counter;
	if (pipe(request) || pipe(answer))
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid) {
		close(request[0]);
		close(answer[1]);
		request_fd = request[1];
		answer_fd = answer[0];
		return 0;
	}
	close(request[1]);
	close(answer[0]);
	while (read(request[0], &what, 1) == 1) {
		int error = what == 'd' ? drop_caches() : prepare(asked);

		if (write(answer[1], &error, sizeof(error)) != sizeof(error))
			break;
	}
	if (counter)
		kill(counter, SIGKILL);
	_exit(0);
}
