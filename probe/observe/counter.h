/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far numbers that a security module keeps of itself, and that only grow, go in a stretch of
 * one process: SELinux's look-ups in its access vector cache, for one. The files are named by the
 * request's lines counter=NAME PATH, and have one of two forms: a line of names above lines of
 * numbers, one for each processor, which are added up; or lines of a name and a number.
 *
 * Reading a file is itself a thing that a module may count. So a process that keeps its privileges
 * reads it, twice before the stretch and once after it: what lies between the first two is what
 * reading costs, and is taken off what lies between the last two. The two processes wait for each
 * other on a futex, for which no hook is called: with pipes it would depend on the scheduler on
 * which side of a reading the one's look-ups for its pipe fall.
 */
#ifndef LSMETER_OBSERVE_COUNTER_H
#define LSMETER_OBSERVE_COUNTER_H

#include "protocol/limits.h"
#include "protocol/request.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MAX_COUNTERS	  32
#define COUNTER_NAME_SIZE 64

/* All zero where nothing is counted so. */
struct counter {
	struct counter_source {
		int fd;
		char name[COUNTER_NAME_SIZE];
		unsigned int first, room; /* its numbers among all, and how many they may be */
	} source[MAX_STATES];
	unsigned int n_sources;
	char name[MAX_COUNTERS][COUNTER_NAME_SIZE];
	unsigned int n_names; /* each is NAME.NUMBER: avc.lookups */
	struct counter_shared *shared;
	bool unread; /* a reading of the stretch failed */
};

/*
 * Open the files and find out which numbers they have; the processes that are forked after this
 * can read them. Returns NULL, or what went wrong.
 */
const char *counter_open(struct counter *counter, const struct request *request);

/*
 * Start the process that reads the files for this one, before it gives up its privileges; its
 * number or -errno. It ends when it is killed.
 */
pid_t counter_start(struct counter *counter);

/* The stretch begins and ends. */
void counter_begin(struct counter *counter);
void counter_end(struct counter *counter);

/* How far the number went in the stretch that has ended; COUNTER_UNREAD: it is not known. */
uint32_t counter_moved(const struct counter *counter, unsigned int index);

#endif
