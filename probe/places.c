// SPDX-License-Identifier: GPL-2.0-or-later
#include "places.h"

#include "region.h"
#include "sys.h"

#include <errno.h>
#include <linux/netlink.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* More than are free in slabs that the kernel has begun. */
#define OBJECTS	 96
#define READINGS 4
/* So many objects with the same cost are no accident. */
#define ALIKE	   3
#define MOST_FILES 4096

/* Bytes of datagrams: with the kernel's own they take objects of up to 704 bytes, 1, 2, 4, 8 KiB.
 */
static const int sizes[] = {1, 600, 1400, 3000, 7000};
static const char data[8192];
static char received[8192];
static int pairs[ARRAY_SIZE(sizes)][MOST_PLACES][2];
static int (*pair)[2]; /* of the size at hand */
static int bytes, own[2];

struct object {
	enum { FREE, TAKEN, HELD } state;
	uint64_t cost;
};

/* The highest cost that several have: a single one is an accident. */
static uint64_t usual_most(const struct object *object)
{
	uint64_t most = 0;

	for (int i = 0; i < MOST_PLACES; i++) {
		int alike = 0;

		for (int j = 0; j < MOST_PLACES; j++)
			alike += object[j].cost == object[i].cost;
		if (object[i].cost > most && alike >= ALIKE)
			most = object[i].cost;
	}
	return most;
}

/* Take so many, and give back those that cost most; how many are held. */
static int hold_some(const struct place *place, struct object *object)
{
	unsigned int taken = 0, number = 0;
	int held = 0;
	uint64_t most;

	for (; taken < place->objects && number < MOST_PLACES; number++) {
		if (object[number].state == HELD)
			continue;
		object[number].cost = place->cost();
		if (place->take(number))
			break;
		object[number].state = TAKEN;
		taken++;
	}
	most = usual_most(object);
	for (number = 0; number < MOST_PLACES; number++) {
		if (object[number].state != TAKEN)
			continue;
		if (object[number].cost < most) {
			object[number].state = HELD;
			held++;
		} else {
			object[number].state = FREE;
			place->give_back(number);
		}
	}
	return taken ? held : -EIO;
}

int places_hold(const struct place *place)
{
	struct object object[MOST_PLACES] = {0};
	int held = 0, more;

	do {
		more = hold_some(place, object);
		held += more;
	} while (more > 0);
	return more < 0 ? more : held;
}

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

static uint64_t cost_of_datagram(void)
{
	struct bench bench = {.calls = 2, .length = 2};
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < READINGS; i++) {
		uint64_t took;

		bench.call[0] = (struct call){.nr = SYS_write, .arg = {own[1], (long)data, bytes}};
		bench.call[1] =
			(struct call){.nr = SYS_read, .arg = {own[0], (long)received, bytes}};
		took = region_measure(&bench);
		if (took < least)
			least = took;
	}
	return least;
}

static int take_datagram(unsigned int number)
{
	return sys_write(pair[number][1], data, (unsigned long)bytes) == bytes ? 0 : -EIO;
}

static void give_datagram_back(unsigned int number)
{
	sys4(SYS_read, pair[number][0], (long)received, bytes, 0);
}

static int hold_of_family(int family)
{
	static const struct place datagrams = {cost_of_datagram, take_datagram, give_datagram_back,
					       OBJECTS};
	int held = 0;

	/* All before any is held: sockets are made of such objects themselves. */
	for (size_t i = 0; i < ARRAY_SIZE(sizes) * MOST_PLACES; i++) {
		if (open_pair(family, pairs[i / MOST_PLACES][i % MOST_PLACES]))
			return -errno;
	}
	if (open_pair(family, own))
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		int more;

		bytes = sizes[i];
		pair = pairs[i];
		more = places_hold(&datagrams);
		if (more < 0)
			return more;
		held += more;
	}
	return held;
}

/* What is accounted to a group of processes comes from caches of its own. */
static int hold_all(void)
{
	const struct rlimit many = {.rlim_cur = MOST_FILES, .rlim_max = MOST_FILES};
	int accounted = setrlimit(RLIMIT_NOFILE, &many) ? -errno : hold_of_family(AF_UNIX);
	int others = hold_of_family(AF_NETLINK);

	return accounted < 0 ? accounted : others < 0 ? others : accounted + others;
}

int places_hold_datagrams(void)
{
	int ends[2], held = -EIO;
	pid_t pid;

	if (pipe(ends))
		return -errno;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		held = hold_all();
		if (write(ends[1], &held, sizeof(held)) != sizeof(held))
			_exit(1);
		close(ends[0]);
		close(ends[1]);
		for (;;)
			pause();
	}
	if (pid < 0 || read(ends[0], &held, sizeof(held)) != sizeof(held))
		held = -EIO;
	close(ends[0]);
	close(ends[1]);
	return held;
}
