// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/scheduling.h"

#include "arch/sys.h"
#include "protocol/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS	 1000000000ull
#define LOOK_NS	 50000000 /* between looks whether the others are alive */
#define GATHER_S 30	  /* for all to come */
#ifndef SCHEDULING_HOLD_S
#define SCHEDULING_HOLD_S 30 /* more than any benchmark may take */
#endif

enum state {
	ABSENT,
	HERE,
	DONE,
	LOST, /* ended too early, or left out */
};

struct seat {
	_Atomic uint32_t state;
	_Atomic int32_t pid;
	_Atomic uint32_t wake; /* what its process sleeps on */
	_Atomic uint32_t measures;
	_Atomic uint64_t waited_ns;
	_Atomic uint64_t since_ns; /* it waits; 0: it does not */
};

/* experiment/turns.py writes the first two. */
struct page {
	uint32_t members;
	char name[28];
	_Atomic uint32_t open;
	_Atomic uint32_t holder;
	_Atomic uint32_t passes;
	uint32_t unused;
	struct seat seat[];
};

static void sleep_on(_Atomic uint32_t *word, uint32_t seen)
{
	const struct timespec most = {0, LOOK_NS};

	syscall(SYS_futex, word, FUTEX_WAIT, seen, &most, NULL, 0);
}

static void wake(_Atomic uint32_t *word)
{
	atomic_fetch_add(word, 1);
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static bool is_in(struct page *page, unsigned int place)
{
	return atomic_load(&page->seat[place].state) == HERE;
}

/* A process that never started has no number yet. One that has ended is dead before anybody waits
 * for it. */
static bool is_dead(struct page *page, unsigned int place)
{
	pid_t pid = atomic_load(&page->seat[place].pid);
	struct pollfd ended = {.events = POLLIN};
	bool dead;

	if (!pid)
		return false;
	ended.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (ended.fd < 0)
		return errno == ESRCH || (kill(pid, 0) && errno == ESRCH);
	dead = poll(&ended, 1, 0) > 0;
	close(ended.fd);
	return dead;
}

/* Give the turn of `from` to the next one that is there, if `from` still has it. */
static void hand_on(struct page *page, uint32_t from)
{
	for (unsigned int step = 1; step <= page->members; step++) {
		uint32_t next = (from + step) % page->members;

		if (!is_in(page, next))
			continue;
		if (next != from && atomic_compare_exchange_strong(&page->holder, &from, next)) {
			atomic_fetch_add(&page->passes, 1);
			wake(&page->seat[next].wake);
		}
		return;
	}
}

int scheduling_open(struct scheduling *scheduling, const char *path, unsigned int place)
{
	struct stat status;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct page *found;
	size_t size;

	if (fd < 0 || fstat(fd, &status))
		return -errno;
	size = (size_t)status.st_size;
	found = size < sizeof(*found) ? MAP_FAILED
				      : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (found == MAP_FAILED || !found->members || place >= found->members ||
	    size < sizeof(*found) + found->members * sizeof(struct seat))
		return -EINVAL;
	*scheduling = (struct scheduling){found, place};
	atomic_store(&found->seat[place].pid, getpid());
	return 0;
}

bool scheduling_active(const struct scheduling *scheduling)
{
	return scheduling->page;
}

static bool all_came(struct page *page)
{
	for (unsigned int i = 0; i < page->members; i++) {
		if (atomic_load(&page->seat[i].state) == ABSENT && !is_dead(page, i))
			return false;
	}
	return true;
}

/* Whoever is not there by now stays out. */
static void open_ring(struct page *page)
{
	uint32_t closed = 0, first = page->members;

	if (!atomic_compare_exchange_strong(&page->open, &closed, 1))
		return;
	for (unsigned int i = page->members; i-- > 0;) {
		uint32_t absent = ABSENT;

		atomic_compare_exchange_strong(&page->seat[i].state, &absent, LOST);
		if (is_in(page, i))
			first = i;
	}
	atomic_store(&page->holder, first);
	wake(&page->open);
}

void scheduling_join(const struct scheduling *scheduling)
{
	struct page *page = scheduling->page;
	uint32_t absent = ABSENT, seen;
	uint64_t until = now_ns() + GATHER_S * NS;

	if (!page ||
	    !atomic_compare_exchange_strong(&page->seat[scheduling->place].state, &absent, HERE))
		return;
	while (atomic_load(&page->open) < 2) {
		seen = atomic_load(&page->open);
		if (!seen && (all_came(page) || now_ns() > until))
			open_ring(page);
		else
			sleep_on(&page->open, seen);
	}
}

/* Leave out one that is dead, or has had its turn for too long. */
static void look_after(struct page *page, uint32_t holder, uint32_t passes, uint64_t since_ns)
{
	if (!is_dead(page, holder) && now_ns() - since_ns < SCHEDULING_HOLD_S * NS)
		return;
	if (atomic_load(&page->passes) != passes)
		return;
	atomic_store(&page->seat[holder].state, LOST);
	hand_on(page, holder);
}

void scheduling_acquire(const struct scheduling *scheduling)
{
	struct page *page = scheduling->page;
	unsigned int me = scheduling->place;
	struct seat *seat;
	uint64_t began_ns, held_ns;
	uint32_t last;

	if (!page || !is_in(page, me) || atomic_load(&page->holder) == me)
		return;
	seat = &page->seat[me];
	began_ns = held_ns = now_ns();
	last = atomic_load(&page->passes);
	atomic_store(&seat->since_ns, began_ns);
	while (is_in(page, me)) {
		uint32_t seen = atomic_load(&seat->wake), passes = atomic_load(&page->passes),
			 holder = atomic_load(&page->holder);

		if (holder == me)
			break;
		/* Whoever sends what it has may have to wait for a host that does not listen. */
		if (passes != last || !atomic_load(&page->seat[holder].measures)) {
			last = passes;
			held_ns = now_ns();
		}
		sleep_on(&seat->wake, seen);
		if (atomic_load(&seat->wake) == seen)
			look_after(page, holder, passes, held_ns);
	}
	atomic_store(&seat->since_ns, 0);
	atomic_fetch_add(&seat->waited_ns, now_ns() - began_ns);
}

void scheduling_release(const struct scheduling *scheduling)
{
	if (scheduling->page && is_in(scheduling->page, scheduling->place))
		hand_on(scheduling->page, scheduling->place);
}

void scheduling_measure(const struct scheduling *scheduling, bool on)
{
	if (scheduling->page)
		atomic_store(&scheduling->page->seat[scheduling->place].measures, on);
}

void scheduling_leave(const struct scheduling *scheduling)
{
	struct page *page = scheduling->page;
	unsigned int me = scheduling->place;
	unsigned int lost = 0;

	if (!page)
		return;
	for (unsigned int i = 0; i < page->members; i++) {
		uint32_t state = atomic_load(&page->seat[i].state);

		lost += state == LOST || (state != DONE && is_dead(page, i));
	}
	if (is_in(page, me)) {
		channel_fact("turns.ring", "%.27s", page->name);
		channel_fact("turns.rounds", "%d", SCHEDULING_ROUNDS);
		channel_fact("turns.members", "%u", page->members);
	} else {
		channel_fact("turns.lost", "the others went on without this one");
	}
	if (lost)
		channel_fact("turns.without", "%u of %u", lost, page->members);
	scheduling_release(scheduling);
	atomic_store(&page->seat[me].state, DONE);
}

uint64_t scheduling_waited_ns(const struct scheduling *scheduling)
{
	const struct seat *seat;
	uint64_t since_ns;

	if (!scheduling->page)
		return 0;
	seat = &scheduling->page->seat[scheduling->place];
	since_ns = atomic_load(&seat->since_ns);
	return atomic_load(&seat->waited_ns) + (since_ns ? now_ns() - since_ns : 0);
}
