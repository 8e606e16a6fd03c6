/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that does for a worker what only a process with privileges may do.
 */
#ifndef LSMETER_SAMPLER_ASSISTANT_H
#define LSMETER_SAMPLER_ASSISTANT_H

#include "protocol/request.h"
#include "sampler/sample.h"

/* Start it, before the worker gives up its privileges; it ends with the worker. 0 or -errno. */
int assistant_start(const struct request *asked);

/* What it can be asked for. */
const struct assistant *worker_assistant(void);

#endif
