// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/assistant.h"

#include "arch/sys.h"
#include "init/steps.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static int ask(const struct assistant *assistant, char what)
{
	int error = -EPIPE;

	if (write(assistant->request_fd, &what, 1) == 1 &&
	    read(assistant->answer_fd, &error, sizeof(error)) != sizeof(error))
		error = -EPIPE;
	return error;
}

int assistant_drop_caches(const struct assistant *assistant)
{
	return ask(assistant, 'd');
}

int assistant_prepare(const struct assistant *assistant)
{
	return ask(assistant, 'p');
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
int assistant_start(struct assistant *assistant, const struct request *asked,
		    struct hook_counts *counts)
{
	int request[2], answer[2];
	pid_t pid, counter = asked->n_counters ? counter_start(&counts->counter) : 0;
	char what;

	if (!asked->cold && !asked->n_before && !asked->n_counters)
		return 0;
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
		*assistant = (struct assistant){request[1], answer[0]};
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
