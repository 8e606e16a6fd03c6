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

#include <stdint.h>
#include <sys/types.h>

#define MAX_COUNTERS	  32
#define COUNTER_NAME_SIZE 64

/*
 * Open the files and find out which numbers they have; the processes that are forked after this
 * can read them. Returns NULL, or what went wrong.
 */
const char *counter_open(const struct request *request);

/* How many numbers there are, 0 where no files were opened; each is NAME.NUMBER: avc.lookups. */
unsigned int counter_size(void);
const char *counter_name(unsigned int index);

/*
 * Start the process that reads the files for this one, before it gives up its privileges; its
 * number or -errno. It ends when it is killed.
 */
pid_t counter_start(void);

/* The stretch begins and ends. */
void counter_begin(void);
void counter_end(void);

/* How far the number went in the stretch that has ended; COUNTER_UNREAD: it is not known. */
uint32_t counter_moved(unsigned int index);

#endif
