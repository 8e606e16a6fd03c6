// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample.h"

#include "bpf/count.h"
#include "clock.h"
#include "sys.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * The measured regions: one each for no, one and two system calls, the same code for every
 * benchmark. All is assembler, so that no compiler option changes a reading. What the region
 * costs by itself (loading registers, the second rdtsc) is in every reading and is what the
 * benchmark `empty` shows.
 */
static __attribute__((noinline)) uint64_t region_none(void)
{
	uint64_t first, second;

	asm volatile(MARK_BEGIN READ_TSC "mov %%rax, %[first]\n\t" READ_TSC MARK_END
		     : [first] "=&r"(first), "=&a"(second)
		     :
		     : "rdx", "cc", "memory");
	return second - first;
}

#define CALL(operand) \
	"mov 0(" operand "), %%rax\n\t" \
	"mov 8(" operand "), %%rdi\n\t" \
	"mov 16(" operand "), %%rsi\n\t" \
	"mov 24(" operand "), %%rdx\n\t" \
	"mov 32(" operand "), %%r10\n\t" \
	"syscall\n\t" \
	"mov %%rax, 40(" operand ")\n\t"

#define CALL_CLOBBERS "rdx", "rcx", "rdi", "rsi", "r10", "r11", "cc", "memory"

_Static_assert(offsetof(struct call, nr) == 0 && offsetof(struct call, arg) == 8 &&
		       offsetof(struct call, result) == 40,
	       "the offsets that CALL uses");

static __attribute__((noinline)) uint64_t region_one(struct call *call)
{
	uint64_t first, second;

	asm volatile(MARK_BEGIN READ_TSC "mov %%rax, %[first]\n\t" CALL("%[call]") READ_TSC MARK_END
		     : [first] "=&r"(first), "=&a"(second)
		     : [call] "r"(call)
		     : CALL_CLOBBERS);
	return second - first;
}

static __attribute__((noinline)) uint64_t region_two(struct call *call)
{
	uint64_t first, second;

	asm volatile(MARK_BEGIN READ_TSC "mov %%rax, %[first]\n\t" CALL("%[call]") CALL("%[next]")
			     READ_TSC MARK_END
		     : [first] "=&r"(first), "=&a"(second)
		     : [call] "r"(call), [next] "r"(call + 1)
		     : CALL_CLOBBERS);
	return second - first;
}

static uint64_t measure(struct bench *bench)
{
	switch (bench->calls) {
	case 0:
		return region_none();
	case 1:
		return region_one(bench->call);
	default:
		return region_two(bench->call);
	}
}

#define NIBBLE(n) \
	case n: \
		asm volatile(MARK_NIBBLE : : "i"(n)); \
		break

static void announce_nibble(unsigned int nibble)
{
	switch (nibble) {
		NIBBLE(0);
		NIBBLE(1);
		NIBBLE(2);
		NIBBLE(3);
		NIBBLE(4);
		NIBBLE(5);
		NIBBLE(6);
		NIBBLE(7);
		NIBBLE(8);
		NIBBLE(9);
		NIBBLE(10);
		NIBBLE(11);
		NIBBLE(12);
		NIBBLE(13);
		NIBBLE(14);
		NIBBLE(15);
	}
}

void sample_announce(unsigned int index)
{
	for (int shift = 12; shift >= 0; shift -= 4)
		announce_nibble(index >> shift & 15);
}

/* Count the calls that did not do what they had to. */
static void check(struct bench *bench, struct outcome *outcome)
{
	for (unsigned int i = 0; i < bench->calls; i++) {
		const struct call *call = &bench->call[i];
		bool right = call->expect == EXPECT_VALUE ? call->result == call->want
							  : call->result >= 0;

		if (right)
			continue;
		if (!outcome->failures++) {
			outcome->error = call->result < 0 ? (int)-call->result : 0;
			snprintf(outcome->detail, sizeof(outcome->detail),
				 "system call %ld returned %ld in reading %u", call->nr,
				 call->result, bench->serial);
		}
	}
}

static bool fault(struct outcome *outcome, const char *where, long error)
{
	if (!error)
		return false;
	outcome->failures++;
	if (!outcome->error) {
		outcome->error = (int)-error;
		snprintf(outcome->detail, sizeof(outcome->detail), "%s: %s", where,
			 strerror((int)-error));
	}
	return true;
}

/*
 * Sleep to 1.5 ms past a multiple of 20 ms, so that what earlier readings left to be done in
 * the background is done.
 */
static void sleep_long(void)
{
	const long period_ns = 20000000, offset_ns = 1500000;
	struct timespec at;
	long ns;

	clock_gettime(CLOCK_MONOTONIC, &at);
	ns = (at.tv_nsec / period_ns + 2) * period_ns + offset_ns;
	at.tv_sec += ns / 1000000000;
	at.tv_nsec = ns % 1000000000;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

/*
 * Wait, without sleeping, until no timer tick is near: what a tick sets off is to be over, and
 * the reading, which may take as long as the one before and a quarter more, is to end before the
 * next one. Ticks stand on multiples of their period.
 */
static void dodge_tick(uint64_t last_ns)
{
	static long tick_ns;
	struct timespec now;
	long phase_ns, room_ns;

	if (!tick_ns) {
		/* The coarse clock moves once a tick. */
		clock_getres(CLOCK_MONOTONIC_COARSE, &now);
		tick_ns = now.tv_nsec ? now.tv_nsec : 1;
	}
	room_ns = tick_ns / 4;
	if (last_ns > (uint64_t)room_ns / 5 * 4)
		room_ns = last_ns < (uint64_t)tick_ns / 2 ? (long)(last_ns / 4 * 5) : tick_ns / 2;
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
		phase_ns = now.tv_nsec % tick_ns;
	} while (phase_ns < tick_ns / 8 || phase_ns > tick_ns - room_ns);
}

/* Put a new tree into a new directory, so that nothing of it was ever looked up. */
static long renew(struct bench *bench, const struct assistant *assistant)
{
	char name[16];
	long error = 0;

	if (bench->serial && bench->op->teardown)
		error = bench->op->teardown(bench);
	if (!error && bench->serial && chdir(".."))
		error = -errno;
	snprintf(name, sizeof(name), "t%06u", bench->serial);
	if (!error)
		error = sys_mkdir(name, 0755);
	if (!error && chdir(name))
		error = -errno;
	if (!error && bench->op->setup)
		error = bench->op->setup(bench);
	return error ? error : assistant->drop_caches();
}

/* Keep how often the reading just taken ran each hook. */
static void keep_calls(struct outcome *outcome)
{
	unsigned int size = hook_count_size();

	for (unsigned int i = 0; i < size; i++)
		outcome->calls[outcome->count * size + i] = (uint32_t)hook_count_calls(i);
}

/* One reading; false ends the benchmark. */
static bool take(struct bench *bench, const struct request *request,
		 const struct assistant *assistant, struct outcome *outcome)
{
	const struct op *op = bench->op;
	unsigned long warmup = request->warmup;
	/* Under emulation the time stamp counts nanoseconds; on hardware it counts faster. */
	static uint64_t ticks;

	if (request->cold && fault(outcome, "renewing the tree", renew(bench, assistant)))
		return false;
	if (fault(outcome, "arming", op->arm(bench)))
		return false;
	if (request->n_before && fault(outcome, "preparing", assistant->prepare()))
		return false;
	if (request->quiet)
		sleep_long();
	dodge_tick(ticks);
	if (request->count)
		hook_count_begin();
	ticks = measure(bench);
	if (request->count)
		hook_count_end();
	check(bench, outcome);
	if (op->disarm && fault(outcome, "restoring", op->disarm(bench)))
		return false;
	if (bench->serial < warmup)
		return true;
	if (request->count)
		keep_calls(outcome);
	outcome->value[outcome->count++] = ticks >> request->icount_shift;
	return true;
}

void sample(struct bench *bench, const struct request *request, const struct assistant *assistant,
	    struct outcome *outcome)
{
	const struct op *op = bench->op;

	if (bench->variant->populous && (request->cold || strcmp(request->filesystem, "tmpfs"))) {
		outcome->skipped = true;
		snprintf(outcome->detail, sizeof(outcome->detail),
			 "so many directories are made on a warm tmpfs only: elsewhere they take "
			 "longer than the rest of the suite");
		return;
	}
	if (!request->cold && op->setup && fault(outcome, "setting up", op->setup(bench)))
		return;
	if (request->sweep_control)
		raise(SIGSTOP); /* the parent makes decisions slow from here */
	for (bench->serial = 0; bench->serial < request->warmup + request->samples;
	     bench->serial++) {
		if (!take(bench, request, assistant, outcome))
			break;
	}
	if (request->sweep_control)
		raise(SIGSTOP); /* to here: 9,437 directories at 110 us each would take minutes */
	if (op->teardown)
		op->teardown(bench);
}
