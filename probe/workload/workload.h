/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workloads: servers that are started once, and clients that give them batches of work. Each batch
 * is a measured region, and a sample. What runs is told apart by accounts (plugin/markers.h).
 *
 *	prepare PROGRAM ARG...			must leave with status 0
 *	service NAME PROCESS PROGRAM ARG...	so must this, and may leave daemons behind, whose
 *						name the kernel keeps as PROCESS
 *	ready PROGRAM ARG...			again and again, until it leaves with status 0
 *	ask NAME PROGRAM ARG...			the first line of what it says is a fact
 *	client ID UNITS ACCOUNT PROGRAM ARG...	a batch of this benchmark; `client` or `service`
 */
#ifndef LSMETER_WORKLOAD_WORKLOAD_H
#define LSMETER_WORKLOAD_WORKLOAD_H

#include "protocol/request.h"

/* What is wrong with these lines, each of which is words; NULL: nothing. */
const char *workload_wrong(const struct request *request);

/*
 * What is done once, before any batch, is a region as well, whose number follows those of the
 * benchmarks: each step of the setup, each line of prepare, then the services until they are ready.
 */
void workload_once(const struct request *request, size_t number);
void workload_once_done(const struct request *request);

/*
 * Prepare, start the services, wait until they are ready, and ask. Returns NULL, or what went wrong
 * in one line.
 */
const char *workload_start(const struct request *request, const char *work);

/* Run all benchmarks. Returns how many were begun. */
unsigned int workload_measure(const struct request *request);

#endif
