// SPDX-License-Identifier: GPL-2.0-or-later
#include "layout/slabs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/*
 * More than what waits to be freed at any time: what is made in two grace periods of RCU, of some
 * four ticks each, is a few hundred objects. Half of them are given back.
 */
#define OBJECTS 1200

/* Of each kind that are taken by a turn. */
#define TURNS 24

/* Where they are; a path, since every process that is made pays for each descriptor. */
static char worn[192];

static void name_of(char *name, size_t size, const char *directory, int number)
{
	snprintf(name, size, "%s/%04d", directory, number);
}

int slabs_wear(const char *directory)
{
	const struct timespec while_freed = {.tv_nsec = 100000000};
	char name[256];

	if (mkdir(directory, 0700))
		return -errno;
	for (int i = 0; i < OBJECTS; i++) {
		name_of(name, sizeof(name), directory, i);
		if (mknod(name, S_IFREG | 0600, 0))
			return -errno;
	}
	for (int i = 0; i < OBJECTS; i += 2) {
		name_of(name, sizeof(name), directory, i);
		if (unlink(name))
			return -errno;
	}
	/* Nothing of it is to be written back or freed while something is measured. */
	sync();
	nanosleep(&while_freed, NULL);
	snprintf(worn, sizeof(worn), "%s", directory);
	return 0;
}

void slabs_turn(void)
{
	static unsigned int turns;
	char name[sizeof(worn) + 16];

	for (int i = 0; i < TURNS && *worn; i++) {
		snprintf(name, sizeof(name), "%s/t%u", worn, turns++);
		if (!mkdir(name, 0700)) {
			strcat(name, "/f");
			mknod(name, S_IFREG | 0600, 0);
		}
	}
}
