/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State files of security modules around each benchmark, such as statistics of SELinux's AVC.
 */
#ifndef LSMETER_INIT_STATE_H
#define LSMETER_INIT_STATE_H

#include "protocol/request.h"

/* Send as facts what the setup wants to know: the first line of each file. */
void state_facts(const struct request *request);

/* Send every state file of the request, read `before` or `after` the benchmark `index`. */
void state_send(const struct request *request, unsigned int index, const char *moment);

#endif
