/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a policy decision takes in this guest: set, and measured, through the tunable security
 * module (securityfs) or through BPF programs on the hooks.
 *
 * Functions return NULL, or what failed as text that stays valid until the next call.
 */
#ifndef LSMETER_POLICY_H
#define LSMETER_POLICY_H

#include <stdint.h>

/* What one decision really takes, when asked for a delay: the median of a few. */
struct policy_wait {
	uint64_t inode_ns;
	uint64_t file_ns;
};

/* Make ready what request's sweep.control names: tunable, or tunable-bpf. */
const char *policy_open(const char *control);

/* Measure what decisions take that are to take `delay`, decimal nanoseconds; then wait no more. */
const char *policy_measure(const char *delay, struct policy_wait *wait);

/* Let decisions take `delay` without measuring it. */
const char *policy_delay(const char *delay);

/* NULL if no wait since the delay was last set was shorter than asked. */
const char *policy_check(void);

#endif
