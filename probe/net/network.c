// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/network.h"

#include "arch/sys.h"
#include "net/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define NAME	   "lsmeter0"
#define NAMESPACE  "/proc/self/ns/net"
#define MAC_BYTES  6
#define NEIGHBOURS 1200
/* Nothing is sent in fragments, as on the loopback device. */
#define MTU	 65535
#define TOGETHER 40

/* The namespaces, as files; -1 until they are joined. */
static int own_fd = -1, peer_fd = -1;

static int set_flags(const char *name, short flags)
{
	struct ifreq request = {.ifr_flags = flags};
	long fd = sys4(SYS_socket, AF_INET, SOCK_DGRAM, 0, 0), error;

	if (fd < 0)
		return (int)fd;
	strcpy(request.ifr_name, name);
	error = sys4(SYS_ioctl, fd, SIOCSIFFLAGS, (long)&request, 0);
	sys_close((int)fd);
	return (int)error;
}

static int set_up(const char *name)
{
	return set_flags(name, IFF_UP | IFF_RUNNING);
}

int network_up(void)
{
	return set_up("lo");
}

struct inet_address network_loopback(int family)
{
	struct inet_address address = network_address(family, false);

	if (family == AF_INET)
		address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		address.v6.sin6_addr = in6addr_loopback;
	return address;
}

int network_bind(int fd, struct inet_address *address)
{
	long error = fd < 0 ? fd : sys4(SYS_bind, fd, (long)address, address->size, 0);

	if (!error)
		error = sys4(SYS_getsockname, fd, (long)address, (long)&address->size, 0);
	if (error && fd >= 0)
		sys_close(fd);
	return error ? (int)error : fd;
}

struct inet_address network_address(int family, bool in_peer)
{
	struct inet_address address;
	uint8_t last = in_peer ? 2 : 1;

	memset(&address, 0, sizeof(address));
	address.size = family == AF_INET ? sizeof(address.v4) : sizeof(address.v6);
	if (family == AF_INET) {
		address.v4.sin_family = AF_INET;
		address.v4.sin_addr.s_addr = htonl(0xc0000200 | last); /* 192.0.2.1 and .2 */
	} else {
		address.v6.sin6_family = AF_INET6;
		/* 2001:db8::1 and ::2 */
		memcpy(&address.v6.sin6_addr, "\x20\x01\x0d\xb8", 4);
		address.v6.sin6_addr.s6_addr[15] = last;
	}
	return address;
}

static const void *address_bytes(const struct inet_address *address, size_t *bytes)
{
	bool v4 = address->v4.sin_family == AF_INET;

	*bytes = v4 ? sizeof(address->v4.sin_addr) : sizeof(address->v6.sin6_addr);
	return v4 ? (const void *)&address->v4.sin_addr : (const void *)&address->v6.sin6_addr;
}

static void put_mac(struct netlink *netlink, int type, bool in_peer)
{
	const char mac[MAC_BYTES] = {2, 0, 0, 0, 0, (char)(in_peer ? 2 : 1)};

	netlink_put(netlink, type, mac, sizeof(mac));
}

int network_enter(bool in_peer)
{
	return (int)sys4(SYS_setns, in_peer ? peer_fd : own_fd, CLONE_NEWNET, 0, 0);
}

/* Two devices of one name, one in each namespace. */
static int make_pair(struct netlink *netlink)
{
	static const struct ifinfomsg any;
	size_t info, data, peer;

	netlink_begin(netlink, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &any, sizeof(any));
	netlink_text(netlink, IFLA_IFNAME, NAME);
	netlink_number(netlink, IFLA_MTU, MTU);
	put_mac(netlink, IFLA_ADDRESS, false);
	info = netlink_nest(netlink, IFLA_LINKINFO);
	netlink_text(netlink, IFLA_INFO_KIND, "veth");
	data = netlink_nest(netlink, IFLA_INFO_DATA);
	peer = netlink_nest(netlink, VETH_INFO_PEER);
	/* What follows describes the other end like a message of its own. */
	netlink->size += sizeof(any);
	memset(netlink->data + netlink->size - sizeof(any), 0, sizeof(any));
	netlink_text(netlink, IFLA_IFNAME, NAME);
	netlink_number(netlink, IFLA_MTU, MTU);
	put_mac(netlink, IFLA_ADDRESS, true);
	netlink_number(netlink, IFLA_NET_NS_FD, (uint32_t)peer_fd);
	netlink_nest_end(netlink, peer);
	netlink_nest_end(netlink, data);
	netlink_nest_end(netlink, info);
	return netlink_send(netlink);
}

static int device_index(void)
{
	struct ifreq request = {.ifr_name = NAME};
	long fd = sys4(SYS_socket, AF_INET, SOCK_DGRAM, 0, 0);
	long error = fd < 0 ? fd : sys4(SYS_ioctl, fd, SIOCGIFINDEX, (long)&request, 0);

	if (fd >= 0)
		sys_close((int)fd);
	return error ? (int)error : request.ifr_ifindex;
}

/* An address of this end, and the neighbour at the other one. */
static int give_address(struct netlink *netlink, int family, int index, bool in_peer)
{
	struct inet_address mine = network_address(family, in_peer);
	struct inet_address other = network_address(family, !in_peer);
	/* Nobody else can have it (IFA_F_NODAD), and nobody is asked. */
	struct ifaddrmsg address = {.ifa_family = (uint8_t)family,
				    .ifa_prefixlen = family == AF_INET ? 24 : 64,
				    .ifa_flags = IFA_F_NODAD | IFA_F_PERMANENT,
				    .ifa_index = (unsigned int)index};
	struct ndmsg neighbour = {
		.ndm_family = (uint8_t)family, .ndm_ifindex = index, .ndm_state = NUD_PERMANENT};
	const void *data;
	size_t bytes;

	netlink_begin(netlink, RTM_NEWADDR, NLM_F_CREATE, &address, sizeof(address));
	data = address_bytes(&mine, &bytes);
	netlink_put(netlink, IFA_LOCAL, data, bytes);
	netlink_put(netlink, IFA_ADDRESS, data, bytes);
	netlink_begin(netlink, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &neighbour,
		      sizeof(neighbour));
	netlink_put(netlink, NDA_DST, address_bytes(&other, &bytes), bytes);
	put_mac(netlink, NDA_LLADDR, !in_peer);
	return netlink_send(netlink);
}

/*
 * The kernel's tables of neighbours begin with 8 chains, whose keys are random in each boot, and
 * grow with what is in them, never back: with so many once in them, no two of ours share a chain.
 */
static int widen_neighbours(int family, int index)
{
	struct ndmsg header = {
		.ndm_family = (uint8_t)family, .ndm_ifindex = index, .ndm_state = NUD_PERMANENT};
	struct inet_address other = network_address(family, true);
	size_t bytes;
	const void *data = address_bytes(&other, &bytes);
	uint8_t *low = (uint8_t *)data + bytes - 2;
	struct netlink netlink;
	int error = netlink_open(&netlink, NETLINK_ROUTE);

	for (int i = 0; !error && i < NEIGHBOURS; i++) {
		low[0] = (uint8_t)(1 + i / 250);
		low[1] = (uint8_t)(1 + i % 250);
		netlink_begin(&netlink, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &header,
			      sizeof(header));
		netlink_put(&netlink, NDA_DST, data, bytes);
		put_mac(&netlink, NDA_LLADDR, true);
		if (i % TOGETHER == TOGETHER - 1 || i == NEIGHBOURS - 1) {
			error = netlink_send(&netlink);
			netlink_empty(&netlink);
		}
	}
	sys_close(netlink.fd);
	return error;
}

/*
 * A kernel without IPv6 has no such file. What is not asked for cannot arrive later, addresses that
 * nobody uses are in no table, and a connection finds nothing that an earlier one left.
 */
static void be_silent(void)
{
#define IPV6 "/proc/sys/net/ipv6/conf/default/"
	static const struct {
		const char *file, *value;
	} settings[] = {
		{IPV6 "router_solicitations", "0"},
		{IPV6 "accept_ra", "0"},
		{IPV6 "addr_gen_mode", "1"},
		{"/proc/sys/net/ipv4/tcp_no_metrics_save", "1"},
	};

	for (unsigned int i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		int fd = sys_open(settings[i].file, O_WRONLY, 0);

		if (fd < 0)
			continue;
		sys_write(fd, settings[i].value, 1);
		sys_close(fd);
	}
}

/* Make one end ready, in its namespace. */
static int open_end(bool in_peer)
{
	struct netlink netlink;
	int error = set_up(NAME), index;

	if (!error)
		error = netlink_open(&netlink, NETLINK_ROUTE);
	if (error)
		return error;
	index = device_index();
	if (index > 0 && !in_peer) {
		error = widen_neighbours(AF_INET, index);
		if (!error && widen_neighbours(AF_INET6, index)) /* there may be no IPv6 */
			error = 0;
		/* This takes them out of the tables. */
		if (!error)
			error = set_flags(NAME, 0);
		if (!error)
			error = set_up(NAME);
	}
	if (!error)
		error = index < 0 ? index : give_address(&netlink, AF_INET, index, in_peer);
	if (!error)
		error = give_address(&netlink, AF_INET6, index, in_peer);
	sys_close(netlink.fd);
	/* Without IPv6 there is IPv4 all the same. */
	return error == -EAFNOSUPPORT || error == -EOPNOTSUPP ? 0 : error;
}

/* Make the peer namespace, and come back. */
static int make_far(void)
{
	long error = sys4(SYS_unshare, CLONE_NEWNET, 0, 0, 0);

	if (error)
		return (int)error;
	peer_fd = sys_open(NAMESPACE, O_RDONLY | O_CLOEXEC, 0);
	be_silent();
	error = network_up();
	return error ? (int)error : network_enter(false);
}

/* The kernel tells the devices of each other in the background. */
static int wait_for_link(void)
{
	const struct timespec moment = {.tv_nsec = 10000000};
	struct ifreq request = {.ifr_name = NAME};
	long fd = sys4(SYS_socket, AF_INET, SOCK_DGRAM, 0, 0), error = fd < 0 ? fd : 0;

	for (int i = 0; !error && i < 300 && !(request.ifr_flags & IFF_RUNNING); i++) {
		sys4(SYS_nanosleep, (long)&moment, 0, 0, 0);
		error = sys4(SYS_ioctl, fd, SIOCGIFFLAGS, (long)&request, 0);
	}
	if (fd >= 0)
		sys_close((int)fd);
	if (!error && !(request.ifr_flags & IFF_RUNNING))
		error = -ENETDOWN;
	return (int)error;
}

static int join(void)
{
	struct netlink netlink;
	int error = network_up();

	if (error)
		return error;
	own_fd = sys_open(NAMESPACE, O_RDONLY | O_CLOEXEC, 0);
	if (own_fd < 0)
		return -EOPNOTSUPP; /* a kernel without namespaces of the network */
	be_silent();
	error = make_far();
	if (!error)
		error = netlink_open(&netlink, NETLINK_ROUTE);
	if (error)
		return error;
	error = make_pair(&netlink);
	sys_close(netlink.fd);
	if (!error)
		error = open_end(false);
	if (!error)
		error = network_enter(true);
	if (!error) {
		error = open_end(true);
		if (!error)
			error = network_enter(false);
	}
	return error ? error : wait_for_link();
}

static bool done;
static int result;

bool network_joined(void)
{
	return done && !result;
}

int network_join(void)
{
	if (!done)
		result = join();
	done = true;
	return result;
}
