/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies of one benchmark that run at once, each on a CPU of its own.
 *
 * Readings are taken in parts. All copies begin a part together, and each goes on with operations
 * that are not kept until every other one has its readings: none is read while another one rests.
 */
#ifndef LSMETER_SAMPLER_COPIES_H
#define LSMETER_SAMPLER_COPIES_H

#include <stdbool.h>

/* Once, where copies are made: so many. 0, or -errno. */
int copies_open(unsigned int count);

/* Before the copies of the next benchmark are made. */
void copies_renew(void);

/* In a copy: which one it is, from 0. 0, or -errno: there is no CPU of its own. */
int copies_enter(unsigned int place);

/* Which one this is. The first one, 0, takes the turns for all. */
unsigned int copies_place(void);

/* Begin a part with the others, once the first one does; false: one of them gave up. */
bool copies_begin(void);

/* Whether another one has not all its readings of this part. */
bool copies_go_on(void);

/* End the part with the others; without `well` none of them goes on. */
void copies_end(bool well);

/* What the first one says, for all. */
unsigned int copies_agree(unsigned int own);

/* One of them gave up: the others are to do so too. */
void copies_break(void);

#endif
