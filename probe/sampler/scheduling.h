/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns: the processes of one block, one for each setup, measure in short turns on one CPU, so that
 * what a benchmark takes under one setup is taken milliseconds from what it takes under another.
 *
 * They share a file of one page, which the host fills with zeros, the number of processes and a
 * name. Who has the turn stands there, and each waits on a word of its own. A process that ends is
 * left out by the next who waits for it; one that measures for SCHEDULING_HOLD_S in a turn is left
 * out, too, and goes on alone, as does one that comes when the others have begun.
 */
#ifndef LSMETER_SAMPLER_SCHEDULING_H
#define LSMETER_SAMPLER_SCHEDULING_H

#include <stdbool.h>
#include <stdint.h>

/* Turns in which the readings of one benchmark are taken; one more prepares it. */
#define SCHEDULING_ROUNDS 10

/* Calls at the head of each turn that are not kept: others have used the caches meanwhile. */
#define SCHEDULING_WARMUP 8

/* Who takes turns; all zero where none are taken. */
struct scheduling {
	struct page *page;
	unsigned int place; /* ours */
};

/* Take a place in the page of a file; 0, or -errno. */
int scheduling_open(struct scheduling *scheduling, const char *path, unsigned int place);

/* Whether turns are taken at all, alone or not. */
bool scheduling_active(const struct scheduling *scheduling);

/* Wait until all who will come are there. */
void scheduling_join(const struct scheduling *scheduling);

/* Wait for our turn; nothing where there is none to wait for. */
void scheduling_acquire(const struct scheduling *scheduling);

/* Let the next one have the turn. */
void scheduling_release(const struct scheduling *scheduling);

/* Say that a benchmark is being measured from now on, or not any more. */
void scheduling_measure(const struct scheduling *scheduling, bool on);

/* Be left out from now on, and say with whom the turns were shared. */
void scheduling_leave(const struct scheduling *scheduling);

/* How long this place has waited for its turns so far. */
uint64_t scheduling_waited_ns(const struct scheduling *scheduling);

#endif
