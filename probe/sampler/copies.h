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
#include <stdint.h>

/* What a copy knows of the others; all zero where there is one alone. */
struct copies {
	struct copies_shared *shared;
	unsigned int count, place; /* the first one, 0, takes the turns for all */
	uint32_t begun, met, done; /* of this copy */
};

/* Once, where copies are made: so many. 0, or -errno. */
int copies_open(struct copies *copies, unsigned int count);

/* Before the copies of the next benchmark are made. */
void copies_renew(const struct copies *copies);

/* In a copy: which one it is, from 0. 0, or -errno: there is no CPU of its own. */
int copies_enter(struct copies *copies, unsigned int place);

/* Begin a part with the others, once the first one does; false: one of them gave up. */
bool copies_begin(struct copies *copies);

/* Whether another one has not all its readings of this part. */
bool copies_go_on(struct copies *copies);

/* End the part with the others; without `well` none of them goes on. */
void copies_end(struct copies *copies, bool well);

/* What the first one says, for all. */
unsigned int copies_agree(struct copies *copies, unsigned int own);

/* One of them gave up: the others are to do so too. */
void copies_break(const struct copies *copies);

#endif
