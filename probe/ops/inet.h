/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sockets of AF_INET and AF_INET6 on the loopback address or on the link between two network
 * namespaces, with ports that the kernel chooses.
 */
#ifndef LSMETER_OPS_INET_H
#define LSMETER_OPS_INET_H

#include "net/peer.h"
#include "ops/define.h"

#include <arpa/inet.h>
#include <sys/socket.h>

/* A variant's value: the family (4 or 6), and how many bytes. */
#define INET(ip, bytes)	     ((ip) | (bytes) << 8)
#define INET_FAMILY(variant) (((variant)->value & 0xff) == 6 ? AF_INET6 : AF_INET)
#define INET_BYTES(variant)  ((variant)->value >> 8)

#define VIA_VETH(parameters, text, number) \
	{.params = parameters ",path=veth", \
	 .origin = ORIGIN_OWN, \
	 .title = text ", to another network namespace", \
	 .value = number, \
	 .in_peer = true}

/* On the loopback device, and between two network namespaces. */
#define ONE_IP(ip, text) \
	VARIANT("ip=" #ip, text " (IPv" #ip ")", INET(ip, 1)), \
		VIA_VETH("ip=" #ip, text " (IPv" #ip ")", INET(ip, 1))
#define BY_IP(text) ONE_IP(4, text), ONE_IP(6, text)
#define BY_IP_HERE(text) \
	VARIANT("ip=4", text " (IPv4)", INET(4, 1)), VARIANT("ip=6", text " (IPv6)", INET(6, 1))
#define BY_SIZE(ip, bytes, text) \
	VARIANT("ip=" #ip ",size=" #bytes, text " of " #bytes " bytes (IPv" #ip ")", \
		INET(ip, bytes)), \
		VIA_VETH("ip=" #ip ",size=" #bytes, text " of " #bytes " bytes (IPv" #ip ")", \
			 INET(ip, bytes))
#define BY_IP_AND_SIZE(text) \
	BY_SIZE(4, 1, text), BY_SIZE(4, 1024, text), BY_SIZE(4, 16384, text), BY_SIZE(6, 1, text), \
		BY_SIZE(6, 1024, text), BY_SIZE(6, 16384, text)

/* A socket that is bound to an address and a port, which are left in `address`; or -errno. */
static inline int inet_bound(int type, struct inet_address *address)
{
	return network_bind((int)sys4(SYS_socket, address->v4.sin_family, type, 0, 0), address);
}

/*
 * The same at one end of what a variant is about: both are on the loopback device, or one of them
 * is in the peer namespace.
 */
static inline int inet_end_at(const struct variant *variant, int type, bool in_peer, int port,
			      struct inet_address *address)
{
	int family = INET_FAMILY(variant);

	*address = variant->in_peer ? network_address(family, in_peer) : network_loopback(family);
	address->v4.sin_port =
		htons((uint16_t)port); /* in IPv6's address, it is at the same place */
	return variant->in_peer && in_peer ? network_bind(peer_socket(family, type), address)
					   : inet_bound(type, address);
}

/* At a port that the kernel chooses. */
static inline int inet_end(const struct variant *variant, int type, bool in_peer,
			   struct inet_address *address)
{
	return inet_end_at(variant, type, in_peer, 0, address);
}

/* A socket that listens at the peer end; port 0 is one that the kernel chooses. */
static inline int inet_listen(const struct variant *variant, int port, struct inet_address *address)
{
	int fd = inet_end_at(variant, SOCK_STREAM, true, port, address);
	long error = fd < 0 ? 0 : sys4(SYS_listen, fd, 64, 0, 0);

	return error ? (int)error : fd;
}

static inline long inet_option(int fd, int level, int option, int value)
{
	return sys6(SYS_setsockopt, fd, level, option, (long)&value, sizeof(value), 0);
}

/* For SO_LINGER: who closes resets, so that nothing waits for a minute. */
static const struct {
	int on, seconds;
} at_once = {1, 0};

static inline long inet_reset_at_close(int fd)
{
	return sys6(SYS_setsockopt, fd, SOL_SOCKET, SO_LINGER, (long)&at_once, sizeof(at_once), 0);
}

/* socket, connect, accept, close both, with the listening socket as the first descriptor. */
static inline void inet_connect_cycle(struct bench *bench, long family, long protocol,
				      const struct inet_address *address)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_socket,
				  .arg = {family, SOCK_STREAM, protocol},
				  .expect = EXPECT_FD});
	push(bench,
	     (struct call){.nr = SYS_setsockopt,
			   .arg = {0, SOL_SOCKET, SO_LINGER, (long)&at_once, sizeof(at_once)},
			   .fd_from = 1});
	push(bench, (struct call){.nr = SYS_connect,
				  .arg = {0, (long)address, address->size},
				  .fd_from = 1});
	push(bench, (struct call){.nr = SYS_accept, .arg = {bench->fd[0]}, .expect = EXPECT_FD});
	push(bench, CLOSE_OF(0));
	push(bench, CLOSE_OF(3));
	region_from(bench, 0);
}

#endif
