/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The network of a guest: its loopback device, and a second network namespace, the peer, with a
 * pair of virtual Ethernet devices (veth) between the two.
 */
#ifndef LSMETER_NET_NETWORK_H
#define LSMETER_NET_NETWORK_H

#include <netinet/in.h>
#include <stdbool.h>

/* An address of either family, for bind and connect. */
struct inet_address {
	union {
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	};
	int size;
};

/* Set the loopback device of this network namespace up; 0 or -errno. */
int network_up(void);

/*
 * The same, and join the peer namespace to this one, once; 0 or -errno. Neighbours are entered for
 * good, so that no packet ever asks for one.
 */
int network_join(void);

/* Whether that was done, and there are two. */
bool network_joined(void);

/* Our own or the peer end of the link, without a port. */
struct inet_address network_address(int family, bool in_peer);

/* The loopback address, without a port. */
struct inet_address network_loopback(int family);

/*
 * Bind a socket, or pass an error on: a descriptor or -errno. The port that the kernel chose is
 * left in `address`.
 */
int network_bind(int fd, struct inet_address *address);

/* Enter the peer namespace, or come back from it; 0 or -errno. Both take CAP_SYS_ADMIN. */
int network_enter(bool in_peer);

#endif
