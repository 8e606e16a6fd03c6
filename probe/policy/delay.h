/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The delay of access checks in this guest: set, and measured, through the tunable security module
 * (securityfs) or through BPF programs on the hooks.
 *
 * Functions return NULL, or what failed as text that stays valid until the next call.
 */
#ifndef LSMETER_POLICY_DELAY_H
#define LSMETER_POLICY_DELAY_H

#include <stdint.h>

/* How long one access check waits when asked for a delay: the median of a few. */
struct delay_wait {
	uint64_t inode_ns;
	uint64_t file_ns;
};

/* Make ready what request's sweep.control names: tunable, or tunable-bpf. */
const char *delay_open(const char *control);

/* Measure how long checks wait with `delay`, decimal nanoseconds; then set it to 0. */
const char *delay_measure(const char *delay, struct delay_wait *wait);

/* Set the delay without measuring it. */
const char *delay_set(const char *delay);

/* NULL if no wait since the delay was last set was shorter than the delay. */
const char *delay_check(void);

#endif
