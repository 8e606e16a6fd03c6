/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is counted in each reading, where the request has count=1: runs of the kernel's hooks
 * (bpf/count.h), or numbers that a module keeps of itself (counter.h). A process counts one
 * stretch at a time.
 */
#ifndef LSMETER_OBSERVE_COUNT_H
#define LSMETER_OBSERVE_COUNT_H

#include "bpf/count.h"
#include "observe/counter.h"

#include <stdbool.h>
#include <stdint.h>

/* All zero where nothing is counted; one of the two otherwise. */
struct hook_counts {
	struct counter counter;
	struct bpf_count bpf;
};

/* How many numbers there are, and the name of each: of a hook, or of a module's number. */
unsigned int hook_count_size(const struct hook_counts *counts);
const char *hook_count_name(const struct hook_counts *counts, unsigned int index);

/* The stretch begins, and ends; everyone: what other processes do in it counts as well. */
void hook_count_begin(struct hook_counts *counts, bool everyone);
void hook_count_end(struct hook_counts *counts);

/* The number of the stretch that has ended. */
uint64_t hook_count_calls(const struct hook_counts *counts, unsigned int index);

#endif
