/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nftables of this network namespace: a table that counts every packet to and from this host, and
 * marks it with a security context.
 */
#ifndef LSMETER_NET_SECMARK_H
#define LSMETER_NET_SECMARK_H

#include "net/netlink.h"

/* Make the table; 0 or -errno. */
int secmark_set(const char *context);

/* Messages, for those that measure them: the table alone, and making and deleting a mark in it. */
void secmark_table(struct netlink *netlink);
void secmark_object(struct netlink *netlink, const char *context);
void secmark_no_object(struct netlink *netlink);

/* How many packets it marked; 0 where there is no such table. */
uint64_t secmark_packets(void);

#endif
