// SPDX-License-Identifier: GPL-2.0-or-later
#include "layout/datagrams.h"

#include "arch/sys.h"
#include "layout/allocation_layout.h"
#include "sampler/region.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sys/socket.h>

/* More than are free in slabs that the kernel has begun. */
#define OBJECTS	 96
#define SOCKETS	 48
#define READINGS 4

/* Bytes: with the kernel's own they take objects of up to 704 bytes, 1, 2, 4, 8 KiB. */
static const int sizes[DATAGRAM_SIZES] = {1, 600, 1400, 3000, 7000};
static const char data[8192];

/* What is accounted to a group of processes (AF_UNIX) comes from caches of its own. */
static const int families[DATAGRAM_FAMILIES] = {AF_UNIX, AF_NETLINK};

/* Those of one family and one size. */
struct queues {
	const int *own;
	const int (*pair)[2];
	int bytes;
	char received[8192];
};

/* Two ends, of which one takes what is written into the other; of netlink both are one. */
static int open_pair(int family, int ends[2])
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK};
	socklen_t size = sizeof(address);

	if (family == AF_UNIX)
		return socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
	ends[0] = ends[1] = socket(AF_NETLINK, SOCK_RAW, NETLINK_USERSOCK);
	return ends[0] < 0 || bind(ends[0], (struct sockaddr *)&address, size) ||
	       getsockname(ends[0], (struct sockaddr *)&address, &size) ||
	       connect(ends[0], (struct sockaddr *)&address, size);
}

static uint64_t cost_of_datagram(void *context)
{
	struct queues *queues = context;
	int bytes = queues->bytes;
	struct bench bench = {.calls = 2, .length = 2};

	bench.call[0] = (struct call){.nr = SYS_write, .arg = {queues->own[1], (long)data, bytes}};
	bench.call[1] = (struct call){.nr = SYS_read,
				      .arg = {queues->own[0], (long)queues->received, bytes}};
	return layout_cost(&bench, READINGS);
}

static int take_datagram(void *context, unsigned int number)
{
	const struct queues *queues = context;
	int bytes = queues->bytes;

	return sys_write(queues->pair[number][1], data, (unsigned long)bytes) == bytes ? 0 : -EIO;
}

static void give_datagram_back(void *context, unsigned int number)
{
	struct queues *queues = context;

	sys4(SYS_read, queues->pair[number][0], (long)queues->received, queues->bytes, 0);
}

int datagrams_open(struct datagram_pairs *pairs)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		if (open_pair(families[i], pairs->own[i]))
			return -errno;
		for (size_t j = 0; j < ARRAY_SIZE(sizes) * MOST_OBJECTS; j++) {
			if (open_pair(families[i],
				      pairs->pair[i][j / MOST_OBJECTS][j % MOST_OBJECTS]))
				return -errno;
		}
	}
	return 0;
}

int datagrams_pin(const struct datagram_pairs *pairs)
{
	struct queues queues;
	const struct object_kind datagrams = {.cost = cost_of_datagram,
					      .take = take_datagram,
					      .give_back = give_datagram_back,
					      .context = &queues,
					      .objects = OBJECTS};
	int held = 0;

	for (size_t i = 0; i < ARRAY_SIZE(families) * ARRAY_SIZE(sizes); i++) {
		int more;

		queues.own = pairs->own[i / ARRAY_SIZE(sizes)];
		queues.pair = pairs->pair[i / ARRAY_SIZE(sizes)][i % ARRAY_SIZE(sizes)];
		queues.bytes = sizes[i % ARRAY_SIZE(sizes)];
		more = layout_pin(&datagrams);
		if (more < 0)
			return more;
		held += more;
	}
	return held;
}

static const struct kind {
	int family, type;
} kinds[] = {
	{AF_UNIX, SOCK_STREAM}, {AF_UNIX, SOCK_DGRAM}, {AF_NETLINK, SOCK_RAW},
	{AF_INET, SOCK_STREAM}, {AF_INET, SOCK_DGRAM}, {AF_INET6, SOCK_STREAM},
	{AF_INET6, SOCK_DGRAM},
};

/* Those of one kind. */
struct sockets {
	const struct kind *kind;
	int fd[MOST_OBJECTS];
};

static int make_socket(const struct kind *kind)
{
	return (int)sys4(SYS_socket, kind->family, kind->type, 0, 0);
}

static uint64_t cost_of_socket(void *context)
{
	const struct kind *kind = ((const struct sockets *)context)->kind;
	struct bench bench = {.calls = 2, .length = 2};
	int fd = make_socket(kind); /* the next one has the same number */

	sys_close(fd);
	bench.call[0] = (struct call){.nr = SYS_socket, .arg = {kind->family, kind->type, 0, 0}};
	bench.call[1] = (struct call){.nr = SYS_close, .arg = {fd}};
	return layout_cost(&bench, READINGS);
}

static int take_socket(void *context, unsigned int number)
{
	struct sockets *sockets = context;

	sockets->fd[number] = make_socket(sockets->kind);
	return sockets->fd[number] < 0 ? sockets->fd[number] : 0;
}

static void give_socket_back(void *context, unsigned int number)
{
	sys_close(((const struct sockets *)context)->fd[number]);
}

int sockets_pin(void)
{
	struct sockets sockets;
	const struct object_kind object = {.cost = cost_of_socket,
					   .take = take_socket,
					   .give_back = give_socket_back,
					   .context = &sockets,
					   .objects = SOCKETS};
	int held = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		int more;

		sockets.kind = &kinds[i];
		more = layout_pin(&object);
		held += more > 0 ? more : 0; /* a kernel need not have all of them */
	}
	return held;
}
