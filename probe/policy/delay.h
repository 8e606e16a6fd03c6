/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The delay of access checks in this guest: set, and measured, through the tunable security module
 * (securityfs) or through BPF programs on the hooks.
 *
 * Functions return NULL, or what failed as text that stays valid until the next call.
 */
#ifndef LSMETER_POLICY_DELAY_H
#define LSMETER_POLICY_DELAY_H

#include "bpf/tunable.h"

#include <stdbool.h>
#include <stdint.h>

/* How long one access check waits when asked for a delay: the median of a few. */
struct delay_wait {
	uint64_t inode_ns;
	uint64_t file_ns;
};

struct delay {
	bool use_bpf;
	struct tunable_bpf bpf;
	int inode_fd, file_fd, counts_fd; /* of the module */
	char failure[256];
};

/* Make ready what request's sweep.control names: tunable, or tunable-bpf. */
const char *delay_open(struct delay *delay, const char *control);

/* Measure how long checks wait with a delay of `ns`, decimal nanoseconds; then set it to 0. */
const char *delay_measure(struct delay *delay, const char *ns, struct delay_wait *wait);

/* Set the delay without measuring it. */
const char *delay_set(struct delay *delay, const char *ns);

/* NULL if no wait since the delay was last set was shorter than the delay. */
const char *delay_check(struct delay *delay);

#endif
