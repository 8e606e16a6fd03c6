/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A policy latency of a chosen length on a kernel that cannot be rebuilt: BPF programs on the LSM
 * hooks inode_permission and file_permission, which wait and then grant. They need a kernel with
 * BPF LSM (CONFIG_BPF_LSM, CONFIG_DEBUG_INFO_BTF, `bpf` among the active LSMs), 5.17 or later, and
 * root. Nothing else: no compiler, no library, no headers of that kernel.
 *
 * Functions return 0, or -errno with a line for people in bpf_error().
 */
#ifndef LSMETER_BPF_TUNABLE_H
#define LSMETER_BPF_TUNABLE_H

#include "protocol/limits.h"

#include <stdint.h>

struct tunable_bpf_counts {
	uint64_t calls;	    /* access checks */
	uint64_t waited_ns; /* spent waiting, all calls together */
	uint64_t cut_short; /* waits that ended before their time: must be 0 */
};

struct tunable_bpf {
	int map_fd;
	int links[2]; /* by check */
};

/* Attach the programs, with delay 0, and check that the kernel calls them. */
int tunable_bpf_load(struct tunable_bpf *bpf);

/* Set the wait of each inode check and of each file check, and set all counts to 0. */
int tunable_bpf_set(const struct tunable_bpf *bpf, uint64_t inode_ns, uint64_t file_ns);

/* Read the counts since the last tunable_bpf_set. */
int tunable_bpf_counts(const struct tunable_bpf *bpf, struct tunable_bpf_counts *inode,
		       struct tunable_bpf_counts *file);

/* Detach the programs; does nothing when they are not loaded. */
void tunable_bpf_unload(struct tunable_bpf *bpf);

/* The reason of the last failure, one line. */
const char *bpf_error(void);

#endif
