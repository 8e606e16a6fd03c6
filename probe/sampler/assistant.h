/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that does for a worker what only a process with privileges may do.
 */
#ifndef LSMETER_SAMPLER_ASSISTANT_H
#define LSMETER_SAMPLER_ASSISTANT_H

#include "observe/count.h"
#include "protocol/request.h"

struct assistant {
	int request_fd, answer_fd;
};

/*
 * Start it, before the worker gives up its privileges, where the request has something for it; it
 * ends with the worker. 0 or -errno.
 */
int assistant_start(struct assistant *assistant, const struct request *asked,
		    struct hook_counts *counts);

/* Before a reading that is to be cold; 0 or -errno. */
int assistant_drop_caches(const struct assistant *assistant);

/* Take the request's steps before each reading; 0 or -errno. */
int assistant_prepare(const struct assistant *assistant);

#endif
