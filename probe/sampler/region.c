// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/region.h"

#include "arch/mark.h"

/* A struct call is what the assembler in arch/ takes it for. */
_Static_assert(offsetof(struct call, nr) == 0 && offsetof(struct call, arg) == 8 &&
		       offsetof(struct call, result) == 56,
	       "the offsets in arch/");

uint64_t counter_now(void)
{
	return arch_counter();
}

/* One each for no, one and two system calls: the same code for every benchmark. */
static __attribute__((noinline)) uint64_t region_none(void)
{
	return arch_region_none();
}

static __attribute__((noinline)) uint64_t region_one(struct call *call)
{
	return arch_region_one(call);
}

static __attribute__((noinline)) uint64_t region_two(struct call *call)
{
	return arch_region_two(call, call + 1);
}

static __attribute__((noinline)) uint64_t region_run(struct bench *bench)
{
	void (*run)(struct bench *bench) = bench->op->run;
	uint64_t first = arch_mark_begin();

	run(bench);
	return arch_mark_end() - first;
}

uint64_t region_measure(struct bench *bench)
{
	struct call *call = &bench->call[bench->first];

	if (bench->op && bench->op->run)
		return region_run(bench);
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
	asm volatile(ARCH_MARK_BEGIN : : : "memory");
}

void region_end(void)
{
	asm volatile(ARCH_MARK_END : : : "memory");
}

void region_announce(unsigned int number)
{
	mark_announce(number);
}

void call_bind(struct bench *bench, unsigned int place)
{
	struct call *call = &bench->call[place];

	if (call->fd_from)
		call->arg[0] = bench->call[call->fd_from - 1].result;
}

__attribute__((noinline)) void call_make(struct call *call)
{
	arch_call(call);
}

__attribute__((noinline)) void call_skip(struct call *call)
{
	arch_call_skip(call);
}

bool call_right(const struct call *call)
{
	return call->expect == EXPECT_VALUE ? call->result == call->want : call->result >= 0;
}
