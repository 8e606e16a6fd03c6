/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Seccomp filters that allow all: a cost that follows from their number and length.
 */
#ifndef LSMETER_POLICY_SECCOMP_H
#define LSMETER_POLICY_SECCOMP_H

#include <linux/filter.h>

struct seccomp_shape {
	unsigned long filters; /* 0: none */
	unsigned long length;  /* instructions of each, at least 2 */
};

/* Fill in a filter that allows all, and looks at an argument so that it is run each time. */
void seccomp_fill(struct sock_filter *filter, unsigned long length);

/* Put this process under them, for good; 0 or -errno. */
int seccomp_restrict(const struct seccomp_shape *shape);

/* How many filters the kernel says that this process is under; -errno where it does not say. */
int seccomp_count(void);

#endif
