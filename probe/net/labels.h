/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A network whose packets carry labels: steps of setups that bring it about. They join the network
 * namespaces first. Each returns 0 or -errno.
 */
#ifndef LSMETER_NET_LABELS_H
#define LSMETER_NET_LABELS_H

#include <stdbool.h>

/*
 * Join the namespaces, and nothing more: the facts say what packets carry as it is. On a kernel
 * that cannot join them they are of the loopback device alone.
 */
int labels_network(void);

/* NetLabel gives IPv4 packets the CIPSO option, with sensitivity and categories as they are. */
int labels_cipso(void);

/* The same by CALIPSO of IPv6: a hop-by-hop option. */
int labels_calipso(void);

/* nftables mark every packet to and from this host, in both namespaces, with a context (SECMARK).
 */
int labels_secmark(const char *context);

/*
 * IPsec between the namespaces, in transport mode, by ESP with a cipher and a digest that do
 * nothing: what it adds is the labelling. `context` is that of the security associations, `policy`
 * that of what decides on their use; without contexts it is IPsec without labels.
 */
int labels_ipsec(const char *context, const char *policy);

/* What the steps have brought about. */
struct labels {
	bool wanted;
	bool alone; /* there is no link to a peer namespace */
	bool marked;
	bool protected;
	int family; /* whose packets the facts are of */
};

const struct labels *labels_made(void);

#endif
