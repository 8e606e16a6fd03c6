// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/copies.h"

#include "sampler/timing.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 50000000 /* between looks, should a wake-up be missed */

struct copies_shared {
	_Atomic uint32_t begun; /* parts; copies sleep on it, so that others may have their turn */
	_Atomic uint32_t met;	/* arrivals where all meet */
	_Atomic uint32_t done;	/* arrivals at the last reading of a part */
	_Atomic uint32_t broken;
	_Atomic uint32_t word;
};

int copies_open(struct copies *copies, unsigned int count)
{
	struct copies_shared *shared;

	*copies = (struct copies){.count = 1};
	if (count < 2)
		return 0;
	if (count > timing_cpus())
		return -EINVAL;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return -errno;
	*copies = (struct copies){shared, .count = count};
	return 0;
}

void copies_renew(const struct copies *copies)
{
	if (copies->shared)
		*copies->shared = (struct copies_shared){0};
}

int copies_enter(struct copies *copies, unsigned int place)
{
	copies->place = place;
	return copies->count > 1 && timing_stay(place) < 0 ? -errno : 0;
}

/* Without sleeping: a copy that has to be woken begins when the others are done. */
static bool meet(struct copies *copies)
{
	struct copies_shared *shared = copies->shared;
	uint32_t until = ++copies->met * copies->count;

	atomic_fetch_add(&shared->met, 1);
	while ((int32_t)(atomic_load(&shared->met) - until) < 0) {
		if (atomic_load(&shared->broken))
			return false;
	}
	return !atomic_load(&shared->broken);
}

static void wake(struct copies_shared *shared)
{
	syscall(SYS_futex, &shared->begun, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

bool copies_begin(struct copies *copies)
{
	struct copies_shared *shared = copies->shared;
	const struct timespec most = {0, LOOK_NS};
	uint32_t seen;

	copies->begun++;
	if (!shared)
		return true;
	if (!copies->place) {
		atomic_store(&shared->begun, copies->begun);
		wake(shared);
	}
	while ((seen = atomic_load(&shared->begun)) != copies->begun &&
	       !atomic_load(&shared->broken))
		syscall(SYS_futex, &shared->begun, FUTEX_WAIT, seen, &most, NULL, 0);
	return meet(copies);
}

bool copies_go_on(struct copies *copies)
{
	struct copies_shared *shared = copies->shared;

	if (!shared)
		return false;
	if (copies->done < copies->begun) {
		copies->done = copies->begun;
		atomic_fetch_add(&shared->done, 1);
	}
	return !atomic_load(&shared->broken) &&
	       atomic_load(&shared->done) < copies->begun * copies->count;
}

void copies_end(struct copies *copies, bool well)
{
	if (!well)
		copies_break(copies);
	else if (copies->shared)
		meet(copies);
}

unsigned int copies_agree(struct copies *copies, unsigned int own)
{
	struct copies_shared *shared = copies->shared;

	if (!shared)
		return own;
	if (!copies->place)
		atomic_store(&shared->word, own);
	return meet(copies) ? atomic_load(&shared->word) : own;
}

void copies_break(const struct copies *copies)
{
	if (!copies->shared)
		return;
	atomic_store(&copies->shared->broken, 1);
	wake(copies->shared);
}
