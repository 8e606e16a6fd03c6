// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/timing.h"

#include "protocol/channel.h"
#include "sampler/region.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CLOCK_FILE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

#define NS 1000000000ull

/* Over which the rate of the counter is measured at first. */
#define CALIBRATE_NS 10000000

/* A reading shorter than so many steps of the clock is repeated. */
#define LEAST_STEPS 100

/* Pairs of readings from which the clock's step is taken. */
#define PAIRS 256

/* Two clocks of one machine that differ by more than this share did not run alike. */
#define STRAY_PPM 200

/* A moment by three clocks; best of some tries, since an interrupt may fall between. */
struct moment {
	uint64_t ticks, raw_ns, wall_ns, awake_ns;
};

static bool by_counter;
static uint64_t hz;
static uint64_t step;
static struct moment opened;
static uint64_t spin_ticks;
static unsigned long spin_every;
static bool spin_now;
static uint64_t spun;

static uint64_t clock_ns(clockid_t which)
{
	struct timespec now;

	clock_gettime(which, &now);
	return (uint64_t)now.tv_sec * NS + (uint64_t)now.tv_nsec;
}

static inline uint64_t now(uint32_t *cpu)
{
	unsigned int here = 0;

	if (by_counter)
		return arch_clock(cpu);
	getcpu(&here, NULL);
	*cpu = here;
	return clock_ns(CLOCK_MONOTONIC_RAW);
}

/* Spin from `from` on; the clock then. */
static __attribute__((noinline)) uint64_t spin_from(uint64_t from, uint32_t *cpu)
{
	uint64_t at;

	do
		at = now(cpu);
	while (at - from < spin_ticks);
	spun = at - from;
	return at;
}

/* What a reading took that began at `first`. The clock is read before anything else is done, so
 * that what is spun is all that it adds. */
static inline uint64_t ended(uint64_t first, uint32_t *to)
{
	uint64_t at = now(to);

	if (__builtin_expect(spin_now, 0))
		at = spin_from(at, to);
	return at - first;
}

uint64_t timing_now(void)
{
	uint32_t cpu;

	return now(&cpu);
}

static struct moment moment_now(void)
{
	struct moment best = {0};
	uint64_t least = UINT64_MAX;
	uint32_t cpu;

	for (int i = 0; i < 32; i++) {
		uint64_t first = arch_counter();
		struct moment at = {.raw_ns = clock_ns(CLOCK_MONOTONIC_RAW)};
		uint64_t took;

		at.ticks = arch_counter();
		took = at.ticks - first;
		if (took >= least)
			continue;
		least = took;
		at.ticks = first + took / 2;
		at.wall_ns = clock_ns(CLOCK_REALTIME);
		at.awake_ns = clock_ns(CLOCK_MONOTONIC);
		best = at;
	}
	if (!by_counter)
		best.ticks = now(&cpu);
	return best;
}

/* Ticks a second between two moments. */
static uint64_t rate(const struct moment *from, const struct moment *to)
{
	long double span_ns = (long double)(to->raw_ns - from->raw_ns);

	return span_ns > 0 ? (uint64_t)((long double)(to->ticks - from->ticks) * NS / span_ns) : 0;
}

static int by_value(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;

	return one < two ? -1 : one > two;
}

/* The least by which two of the clock's spans differ. */
static uint64_t find_step(void)
{
	uint64_t span[PAIRS], least = UINT64_MAX;
	uint32_t cpu;

	for (int i = 0; i < PAIRS; i++) {
		uint64_t first = now(&cpu);

		span[i] = now(&cpu) - first;
	}
	qsort(span, PAIRS, sizeof(span[0]), by_value);
	for (int i = 1; i < PAIRS; i++) {
		uint64_t more = span[i] - span[i - 1];

		if (more && more < least)
			least = more;
	}
	return least == UINT64_MAX ? 1 : least;
}

/* The kernel may have found the counter wanting: then it is none of its clocks. */
static bool kernel_trusts_counter(void)
{
	char name[32] = "";
	FILE *file = fopen(CLOCK_FILE, "re");

	if (!file)
		return true;
	if (!fgets(name, sizeof(name), file))
		*name = '\0';
	fclose(file);
	name[strcspn(name, "\n")] = '\0';
	return !strcmp(name, ARCH_CLOCK_NAME) || !strcmp(name, "kvm-clock");
}

/* Those that this process might use before it chose one. */
static const cpu_set_t *cpus(void)
{
	static cpu_set_t mine;

	if (!CPU_COUNT(&mine))
		sched_getaffinity(0, sizeof(mine), &mine);
	return &mine;
}

unsigned int timing_cpus(void)
{
	return (unsigned int)CPU_COUNT(cpus());
}

int timing_stay(unsigned int place)
{
	const cpu_set_t *mine = cpus();
	cpu_set_t one;

	CPU_ZERO(&one);
	for (int cpu = CPU_SETSIZE; cpu-- > 0;) {
		if (!CPU_ISSET(cpu, mine) || place--)
			continue;
		CPU_SET(cpu, &one);
		return sched_setaffinity(0, sizeof(one), &one) ? -1 : cpu;
	}
	errno = EINVAL;
	return -1;
}

void timing_open(const struct spin_shape *shape)
{
	struct moment then;

	channel_fact("timing.cpu", "%d", timing_stay(0));
	by_counter = arch_clock_steady() && kernel_trusts_counter();
	hz = by_counter ? arch_clock_hz() : NS;
	opened = moment_now();
	if (!hz) {
		do
			then = moment_now();
		while (then.raw_ns - opened.raw_ns < CALIBRATE_NS);
		hz = rate(&opened, &then);
	}
	step = find_step();
	spin_ticks = (uint64_t)((double)shape->ns * (double)hz / (double)NS);
	spin_every = shape->every;
	if (spin_ticks) {
		channel_fact("spin.ns", "%lu", shape->ns);
		channel_fact("spin.every", "%lu", shape->every);
	}
	channel_fact("timing.clock", "%s", by_counter ? ARCH_CLOCK_NAME : "monotonic");
	channel_fact("timing.hz", "%" PRIu64, hz);
	channel_fact("timing.step", "%" PRIu64, step);
}

/* One each for no, one and two calls, and for run(): the same code for every benchmark. */
static __attribute__((noinline)) uint64_t time_none(uint32_t *from, uint32_t *to)
{
	uint64_t first = now(from);

	return ended(first, to);
}

static __attribute__((noinline)) uint64_t time_one(struct call *call, uint32_t *from, uint32_t *to)
{
	uint64_t first = now(from);

	arch_call(call);
	return ended(first, to);
}

static __attribute__((noinline)) uint64_t time_two(struct call *call, uint32_t *from, uint32_t *to)
{
	uint64_t first = now(from);

	arch_call(call);
	arch_call(call + 1);
	return ended(first, to);
}

static __attribute__((noinline)) uint64_t time_run(struct bench *bench, uint32_t *from,
						   uint32_t *to)
{
	void (*run)(struct bench *bench) = bench->op->run;
	uint64_t first = now(from);

	run(bench);
	return ended(first, to);
}

/* A call that goes wrong ends the batch, and is seen as any other. */
static __attribute__((noinline)) uint64_t time_batch(struct call *call, unsigned int batch,
						     uint32_t *from, uint32_t *to)
{
	uint64_t first = now(from);

	for (unsigned int i = 0; i < batch; i++) {
		arch_call(call);
		if (__builtin_expect(!call_right(call), 0))
			break;
	}
	return ended(first, to);
}

/* Keep what was spun. */
static void keep_spun(struct timing *timing)
{
	timing->spun += spun;
	if (!timing->least_spun || spun < timing->least_spun)
		timing->least_spun = spun;
	if (spun > timing->most_spun)
		timing->most_spun = spun;
}

uint64_t timing_measure(struct bench *bench, struct timing *timing, bool counts)
{
	struct call *call = &bench->call[bench->first];
	bool empty = !bench->calls && !bench->op->run;
	uint32_t from, to;
	uint64_t took;

	spin_now = counts && spin_ticks && !empty && timing->counted % spin_every == 0;
	timing->counted += counts;
	if (bench->op->run)
		took = time_run(bench, &from, &to);
	else if (timing->batch > 1)
		took = time_batch(call, timing->batch, &from, &to);
	else if (!bench->calls)
		took = time_none(&from, &to);
	else if (bench->calls == 1)
		took = time_one(call, &from, &to);
	else
		took = time_two(call, &from, &to);
	timing->moved += from != to;
	if (spin_now)
		keep_spun(timing);
	return took;
}

unsigned int timing_batch(const struct bench *bench, uint64_t least, unsigned long wanted)
{
	unsigned int most = bench->most ? bench->most : bench->length == 1 ? MAX_BATCH : 1;

	if (bench->op->run || bench->op->before || bench->calls != 1)
		return 1;
	if (!wanted)
		wanted = (LEAST_STEPS * step + least - 1) / (least ? least : 1);
	if (wanted > most)
		return most;
	return wanted ? (unsigned int)wanted : 1;
}

void timing_send(const char *id, const struct timing *timing, unsigned int readings)
{
	char key[128];

	if (timing->batch > 1) {
		snprintf(key, sizeof(key), "timing.operations.%.100s", id);
		channel_fact(key, "%u", timing->batch);
	}
	if (timing->spun) {
		snprintf(key, sizeof(key), "spin.ticks.%.100s", id);
		channel_fact(key, "%" PRIu64 " %" PRIu64 " %" PRIu64, timing->spun,
			     timing->least_spun, timing->most_spun);
	}
	if (timing->moved) {
		snprintf(key, sizeof(key), "timing.moved.%.100s", id);
		channel_fact(key, "%u of %u", timing->moved, readings);
	}
	if (timing->preempted) {
		snprintf(key, sizeof(key), "timing.preempted.%.100s", id);
		channel_fact(key, "%lu", timing->preempted);
	}
}

void timing_close(void)
{
	struct moment closed = moment_now();
	uint64_t life = rate(&opened, &closed);
	int64_t wall_ns = (int64_t)(closed.wall_ns - opened.wall_ns),
		awake_ns = (int64_t)(closed.awake_ns - opened.awake_ns);

	channel_fact("timing.hz.life", "%" PRIu64, life);
	channel_fact("timing.life_ns", "%" PRIu64, closed.raw_ns - opened.raw_ns);
	/* How far somebody set the clock of the day meanwhile: readings do not depend on it. */
	channel_fact("timing.clock_set_ns", "%" PRId64, wall_ns - awake_ns);
	if (life > hz + hz / 1000000 * STRAY_PPM || life + hz / 1000000 * STRAY_PPM < hz)
		channel_fact("timing.stray",
			     "%" PRIu64 " ticks a second at first, %" PRIu64 " over all", hz, life);
}
