/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A network whose packets carry labels: steps of setups that bring it about, and facts that show
 * it. The steps join the network namespaces first. Each returns 0 or -errno.
 */
#ifndef LSMETER_LABELS_H
#define LSMETER_LABELS_H

#include "request.h"

/*
 * Join the namespaces, and nothing more: the facts say what packets carry as it is. On a kernel
 * that cannot join them they are of the loopback device alone.
 */
int labels_network(void);

/* NetLabel gives IPv4 packets the CIPSO option, with sensitivity and categories as they are. */
int labels_cipso(void);

/* nftables mark every packet to and from this host, in both namespaces, with a context (SECMARK).
 */
int labels_secmark(const char *context);

/*
 * IPsec between the namespaces, in transport mode, by ESP with a cipher and a digest that do
 * nothing: what it adds is the labelling. `context` is that of the security associations, `policy`
 * that of what decides on their use; without contexts it is IPsec without labels.
 */
int labels_ipsec(const char *context, const char *policy);

/*
 * After one of the steps: have a worker exchange data over both links. Facts `net.peer.LINK`
 * (the label of the other end, or none), `net.option.LINK` (the number of the IP option that a
 * datagram had, or none; 134 is CIPSO), and `net.secmark`, `net.ipsec`: whether packets were
 * counted.
 */
void labels_facts(const struct request *request, const char *work);

#endif
