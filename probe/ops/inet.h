/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sockets of AF_INET and AF_INET6 on the loopback address, with ports that the kernel chooses.
 */
#ifndef LSMETER_OPS_INET_H
#define LSMETER_OPS_INET_H

#include "ops/define.h"

#include <netinet/in.h>
#include <sys/socket.h>

#define OPTION_PEERSEC 31

/* A variant's value: the family (4 or 6), and how many bytes. */
#define INET(ip, bytes)	     ((ip) | (bytes) << 8)
#define INET_FAMILY(variant) (((variant)->value & 0xff) == 6 ? AF_INET6 : AF_INET)
#define INET_BYTES(variant)  ((variant)->value >> 8)

#define BY_IP(text) \
	VARIANT("ip=4", text " (IPv4)", INET(4, 1)), VARIANT("ip=6", text " (IPv6)", INET(6, 1))
#define BY_SIZE(ip, bytes, text) \
	VARIANT("ip=" #ip ",size=" #bytes, text " of " #bytes " bytes (IPv" #ip ")", \
		INET(ip, bytes))
#define BY_IP_AND_SIZE(text) \
	BY_SIZE(4, 1, text), BY_SIZE(4, 1024, text), BY_SIZE(4, 16384, text), BY_SIZE(6, 1, text), \
		BY_SIZE(6, 1024, text), BY_SIZE(6, 16384, text)

struct inet_address {
	union {
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	};
	int size;
};

/* The loopback address, without a port. */
static inline struct inet_address inet_loopback(int family)
{
	struct inet_address address;

	memset(&address, 0, sizeof(address));
	address.size = family == AF_INET ? sizeof(address.v4) : sizeof(address.v6);
	if (family == AF_INET) {
		address.v4.sin_family = AF_INET;
		address.v4.sin_addr.s_addr = 0x0100007f;
	} else {
		address.v6.sin6_family = AF_INET6;
		address.v6.sin6_addr.s6_addr[15] = 1;
	}
	return address;
}

/* A socket that is bound to an address and a port, which are left in `address`; or -errno. */
static inline int inet_bound(int type, struct inet_address *address)
{
	int fd = (int)sys4(SYS_socket, address->v4.sin_family, type, 0, 0);
	long error = fd < 0 ? fd : sys4(SYS_bind, fd, (long)address, address->size, 0);

	if (!error && fd >= 0)
		error = sys4(SYS_getsockname, fd, (long)address, (long)&address->size, 0);
	if (error && fd >= 0)
		sys_close(fd);
	return error ? (int)error : fd;
}

static inline long inet_option(int fd, int level, int option, int value)
{
	return sys6(SYS_setsockopt, fd, level, option, (long)&value, sizeof(value), 0);
}

#endif
