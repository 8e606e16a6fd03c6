// SPDX-License-Identifier: GPL-2.0-or-later
#include "region.h"

#include "clock.h"

uint64_t counter_now(void)
{
	uint64_t now;

	asm volatile(READ_TSC : "=&a"(now) : : "rdx", "cc", "memory");
	return now;
}

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

#define CALL_WITH(operand, instruction) \
	"mov 0(" operand "), %%rax\n\t" \
	"mov 8(" operand "), %%rdi\n\t" \
	"mov 16(" operand "), %%rsi\n\t" \
	"mov 24(" operand "), %%rdx\n\t" \
	"mov 32(" operand "), %%r10\n\t" instruction "\n\t" \
	"mov %%rax, 40(" operand ")\n\t"

#define CALL(operand) CALL_WITH(operand, "syscall")

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

uint64_t region_measure(struct bench *bench)
{
	struct call *call = &bench->call[bench->first];

	switch (bench->calls) {
	case 0:
		return region_none();
	case 1:
		return region_one(call);
	default:
		return region_two(call);
	}
}

void region_begin(void)
{
	asm volatile(MARK_BEGIN : : : "memory");
}

void region_end(void)
{
	asm volatile(MARK_END : : : "memory");
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

void region_announce(unsigned int number)
{
	for (int shift = 12; shift >= 0; shift -= 4)
		announce_nibble(number >> shift & 15);
}

void call_bind(struct bench *bench, unsigned int place)
{
	struct call *call = &bench->call[place];

	if (call->fd_from)
		call->arg[0] = bench->call[call->fd_from - 1].result;
}

__attribute__((noinline)) void call_make(struct call *call)
{
	register long rax asm("rax");

	asm volatile(CALL("%[call]") : "=&a"(rax) : [call] "r"(call) : CALL_CLOBBERS);
}

__attribute__((noinline)) void call_skip(struct call *call)
{
	register long rax asm("rax");

	asm volatile(CALL_WITH("%[call]", "nop") : "=&a"(rax) : [call] "r"(call) : CALL_CLOBBERS);
}

bool call_right(const struct call *call)
{
	return call->expect == EXPECT_VALUE ? call->result == call->want : call->result >= 0;
}
