/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes of this guest by the name that the kernel keeps (/proc/PID/comm).
 */
#ifndef LSMETER_OBSERVE_PROCESSES_H
#define LSMETER_OBSERVE_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>

/* How many there are with this name; what has ended and was not waited for is none. */
unsigned int processes_count(const char *name);

/*
 * Their distinct security contexts (/proc/PID/attr/current) into `text`, sorted and joined by
 * commas; one that cannot be read is "". Where there is no room for all, "..." ends the text.
 * Without a name: those of all processes in the network namespace of the services.
 */
void processes_contexts(const char *name, char *text, size_t size);

/* The first of this name; 0: there is none. */
unsigned int processes_first(const char *name);

/* What /proc/PID/stat says that a process has used, in the kernel's units. */
struct processes_usage {
	char name[64];
	unsigned long minor_faults, major_faults;
	unsigned long user_ticks, system_ticks; /* of all its threads, 100 a second */
	unsigned int threads;
	unsigned long vsize_bytes, rss_pages;
};

/* False if there is no such process. */
bool processes_usage(unsigned int process, struct processes_usage *usage);

#endif
