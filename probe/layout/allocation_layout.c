// SPDX-License-Identifier: GPL-2.0-or-later
#include "layout/allocation_layout.h"

#include "sampler/region.h"

#include <errno.h>
#include <stdbool.h>

/* A cost that at least one in so many objects has is no accident. */
#define MANY 8
/* So much at most are the places worth of what an operation uses; ticks of the counter. */
#define MOST_BY_PLACE (6 << 4)

uint64_t layout_cost(struct bench *bench, int readings)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < readings; i++) {
		uint64_t took = region_measure(bench);

		if (took < least)
			least = took;
	}
	return least;
}

struct object {
	enum { FREE, TAKEN, HELD } state;
	uint64_t cost;
};

/* Whether many objects cost a little more than this one, so that it lies in a first page. */
static bool lies_first(const struct object *object, uint64_t cost, unsigned int taken)
{
	unsigned int more[MOST_BY_PLACE + 1] = {0};

	for (int i = 0; i < MOST_OBJECTS; i++) {
		uint64_t by = object[i].cost - cost;

		if (object[i].cost > cost && by <= MOST_BY_PLACE && ++more[by] * MANY >= taken)
			return true;
	}
	return false;
}

/* Take so many, and give back those that lie elsewhere; how many are held. */
static int hold_some(const struct object_kind *kind, struct object *object)
{
	unsigned int taken = 0, number = 0;
	int held = 0;

	for (; taken < kind->objects && number < MOST_OBJECTS; number++) {
		if (object[number].state == HELD)
			continue;
		object[number].cost = kind->cost(kind->context);
		if (kind->take(kind->context, number))
			break;
		object[number].state = TAKEN;
		taken++;
	}
	for (number = 0; number < MOST_OBJECTS; number++) {
		if (object[number].state != TAKEN)
			continue;
		if (lies_first(object, object[number].cost, taken)) {
			object[number].state = HELD;
			held++;
		} else {
			object[number].state = FREE;
			kind->give_back(kind->context, number);
		}
	}
	return taken ? held : -EIO;
}

int layout_pin(const struct object_kind *kind)
{
	struct object object[MOST_OBJECTS] = {0};
	int held = 0, more;

	do {
		more = hold_some(kind, object);
		held += more;
	} while (more > 0);
	return more < 0 ? more : held;
}
