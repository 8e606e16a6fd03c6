/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nftables of this network namespace: a table that counts every packet to and from this host, and
 * marks it with a security context.
 */
#ifndef LSMETER_SECMARK_H
#define LSMETER_SECMARK_H

#include <stdint.h>

/* Make the table; 0 or -errno. */
int secmark_set(const char *context);

/* How many packets it marked; 0 where there is no such table. */
uint64_t secmark_packets(void);

#endif
