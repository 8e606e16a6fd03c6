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

static struct shared {
	_Atomic uint32_t begun; /* parts; copies sleep on it, so that others may have their turn */
	_Atomic uint32_t met;	/* arrivals where all meet */
	_Atomic uint32_t done;	/* arrivals at the last reading of a part */
	_Atomic uint32_t broken;
	_Atomic uint32_t word;
} *shared;

static unsigned int copies = 1, me;
static uint32_t begun, met, done; /* of this copy */

int copies_open(unsigned int count)
{
	if (count < 2)
		return 0;
	if (count > timing_cpus())
		return -EINVAL;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return -errno;
	copies = count;
	return 0;
}

void copies_renew(void)
{
	if (shared)
		*shared = (struct shared){0};
}

int copies_enter(unsigned int place)
{
	me = place;
	return copies > 1 && timing_stay(place) < 0 ? -errno : 0;
}

unsigned int copies_place(void)
{
	return me;
}

/* Without sleeping: a copy that has to be woken begins when the others are done. */
static bool meet(void)
{
	uint32_t until = ++met * copies;

	atomic_fetch_add(&shared->met, 1);
	while ((int32_t)(atomic_load(&shared->met) - until) < 0) {
		if (atomic_load(&shared->broken))
			return false;
	}
	return !atomic_load(&shared->broken);
}

static void wake(void)
{
	syscall(SYS_futex, &shared->begun, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

bool copies_begin(void)
{
	const struct timespec most = {0, LOOK_NS};
	uint32_t seen;

	begun++;
	if (!shared)
		return true;
	if (!me) {
		atomic_store(&shared->begun, begun);
		wake();
	}
	while ((seen = atomic_load(&shared->begun)) != begun && !atomic_load(&shared->broken))
		syscall(SYS_futex, &shared->begun, FUTEX_WAIT, seen, &most, NULL, 0);
	return meet();
}

bool copies_go_on(void)
{
	if (!shared)
		return false;
	if (done < begun) {
		done = begun;
		atomic_fetch_add(&shared->done, 1);
	}
	return !atomic_load(&shared->broken) && atomic_load(&shared->done) < begun * copies;
}

void copies_end(bool well)
{
	if (!well)
		copies_break();
	else if (shared)
		meet();
}

unsigned int copies_agree(unsigned int own)
{
	if (!shared)
		return own;
	if (!me)
		atomic_store(&shared->word, own);
	return meet() ? atomic_load(&shared->word) : own;
}

void copies_break(void)
{
	if (!shared)
		return;
	atomic_store(&shared->broken, 1);
	wake();
}
