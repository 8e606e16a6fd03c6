/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where objects of the kernel lie in their slabs.
 *
 * A slab may be of several pages. For an object in its first page, finding the slab takes up to
 * three instructions less, and which object is next in turn depends on all that was allocated
 * before: typical counts would be one number in one boot and another in the next. So what lies in
 * first pages is taken out of use before anything is measured, for several slabs' worth.
 */
#ifndef LSMETER_LAYOUT_ALLOCATION_LAYOUT_H
#define LSMETER_LAYOUT_ALLOCATION_LAYOUT_H

#include "ops/bench.h"

#include <stdint.h>

/* One kind of object; each function is given `context`. */
struct object_kind {
	/* What an operation takes that uses the object that is next in turn. */
	uint64_t (*cost)(void *context);
	/* Take that object and keep it as number `number`; 0 or -errno. */
	int (*take)(void *context, unsigned int number);
	void (*give_back)(void *context, unsigned int number);
	void *context;
	unsigned int objects; /* that are looked at together: those of several slabs */
};

#define MOST_OBJECTS 224

/*
 * Take so many objects and give back those that cost most, which lie elsewhere, again and again
 * until all cost most. Returns how many are held, or -errno.
 */
int layout_pin(const struct object_kind *kind);

/* The least that the calls of `bench` take in so many readings. */
uint64_t layout_cost(struct bench *bench, int readings);

#endif
