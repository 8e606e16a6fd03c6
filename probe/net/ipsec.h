/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IPsec on the link between the namespaces, at the end that this process is at: ESP in transport
 * mode with a cipher and a digest that do nothing.
 */
#ifndef LSMETER_NET_IPSEC_H
#define LSMETER_NET_IPSEC_H

#include "net/netlink.h"

#include <stdbool.h>
#include <stdint.h>

/* Security associations and policies of both directions; contexts may be NULL. 0 or -errno. */
int ipsec_set(bool in_peer, const char *context, const char *policy);

/* How many packets left this end protected. */
uint64_t ipsec_packets(bool in_peer);

/* What an association or a policy is for. */
struct ipsec_way {
	int family;
	bool from_peer; /* from the peer end to ours */
	bool trial;	/* not what ipsec_set() makes, and in its way nowhere */
};

/* Messages, for those that measure them: make or delete an association, or a policy. */
void ipsec_association(struct netlink *netlink, struct ipsec_way way, const char *context);
void ipsec_policy(struct netlink *netlink, struct ipsec_way way, bool out, const char *context);
void ipsec_no_association(struct netlink *netlink, struct ipsec_way way);
void ipsec_no_policy(struct netlink *netlink, struct ipsec_way way, bool out, const char *context);

#endif
