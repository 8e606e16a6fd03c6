/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes of this guest by the name that the kernel keeps (/proc/PID/comm).
 */
#ifndef LSMETER_PROCESSES_H
#define LSMETER_PROCESSES_H

#include <stddef.h>

/* How many there are with this name; what has ended and was not waited for is none. */
unsigned int processes_count(const char *name);

/*
 * Their distinct security contexts (/proc/PID/attr/current) into `text`, sorted and joined by
 * commas; one that cannot be read is "". Where there is no room for all, "..." ends the text.
 */
void processes_contexts(const char *name, char *text, size_t size);

#endif
