/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is counted in each reading, where the request has count=1: runs of the kernel's hooks
 * (bpf/count.h), or numbers that a module keeps of itself (counter.h). A process counts one
 * stretch at a time.
 */
#ifndef LSMETER_OBSERVE_COUNT_H
#define LSMETER_OBSERVE_COUNT_H

#include <stdbool.h>
#include <stdint.h>

/* How many numbers there are, and the name of each: of a hook, or of a module's number. */
unsigned int hook_count_size(void);
const char *hook_count_name(unsigned int index);

/* The stretch begins, and ends; everyone: what other processes do in it counts as well. */
void hook_count_begin(bool everyone);
void hook_count_end(void);

/* The number of the stretch that has ended. */
uint64_t hook_count_calls(unsigned int index);

#endif
