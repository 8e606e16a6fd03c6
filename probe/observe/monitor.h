/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel says of the whole guest and of its processes, moment by moment while a batch of a
 * workload runs. It is kept in memory, and sent when the batch is over: sending would interrupt.
 */
#ifndef LSMETER_OBSERVE_MONITOR_H
#define LSMETER_OBSERVE_MONITOR_H

#include <time.h>

struct monitor;

enum moment_when { MOMENT_BEGIN, MOMENT_WITHIN, MOMENT_END };

/*
 * Be ready for batches with a moment at the begin, at the end, and every `every_ms` of guest time
 * between. Interfaces are those that the process sees whose name this is, so it must run. NULL
 * without memory.
 */
struct monitor *monitor_open(unsigned long every_ms, const char *process);

/* Begin or end a batch. */
void monitor_batch(struct monitor *monitor, enum moment_when when);

/* Take a moment if one is due; then shorten `left` to the time until the next one. */
void monitor_wake(struct monitor *monitor, struct timespec *left);

/* Send what was kept of the last batch. */
void monitor_send(const struct monitor *monitor, unsigned int index, unsigned int batch);

#endif
