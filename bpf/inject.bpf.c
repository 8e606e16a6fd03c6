// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs that cost as many instructions as they are told, and grant. All calls run the same
 * instructions but for the rounds of two loops, and so do places that cost nothing.
 */
#include "inject.h"
#include "kernel.h"

struct inject_state inject;

/*
 * Run `rounds` times `insns` instructions of the CPU. The kernel's compiler makes two of the test
 * and one of each of the others (the loader checks that); the test is met once more than they are.
 * The verifier has to know a bound of `rounds`.
 */
#define BURN(rounds, insns) \
	asm volatile("r1 = 0\n" \
		     "again_%=:\n\t" \
		     "if r1 >= %0 goto done_%=\n\t" \
		     ".rept " INJECT_TEXT(insns) " - 4\n\t" \
						 "r0 = 1\n\t" \
						 ".endr\n\t" \
						 "r1 += 1\n\t" \
						 "goto again_%=\n" \
						 "done_%=:" \
		     : \
		     : "r"(rounds) \
		     : "r0", "r1")
#define INJECT_TEXT(value)  INJECT_TEXT_(value)
#define INJECT_TEXT_(value) #value

static __always_inline int charge(enum inject_place at, unsigned int most)
{
	/* Only one CPU runs a benchmark, and no place is met within itself. */
	__u64 call = inject.place[at].calls++ % inject.place[at].length;
	__u64 large, small;

	if (call >= INJECT_LENGTH)
		goto lost;
	large = inject.place[at].cost[call].large;
	small = inject.place[at].cost[call].small;
	if (large > most || small >= INJECT_LARGE / INJECT_SMALL)
		goto lost;
	inject.place[at].insns += large * INJECT_LARGE + small * INJECT_SMALL;
	BURN(large, INJECT_LARGE);
	BURN(small, INJECT_SMALL);
	return 0;
lost:
	inject.lost++;
	return 0;
}

#define PROGRAM(name, section, thousands) \
	SEC(section) \
	int inject_##name(void *context) \
	{ \
		return charge(INJECT_##name, thousands); \
	}
INJECT_PLACES(PROGRAM)

/* Pinned, these two are files: what was asked for, and what was injected so far. */
SEC("iter/bpf_map")
int costs(struct bpf_iter__bpf_map *context)
{
	if (!context->map)
		BPF_SEQ_PRINTF(context->meta->seq, "%s\n", inject.text);
	return 0;
}

#define PRINT(name, section, thousands) \
	BPF_SEQ_PRINTF(context->meta->seq, #name "_calls: %llu\n" #name "_insns: %llu\n", \
		       inject.place[INJECT_##name].calls, inject.place[INJECT_##name].insns);

SEC("iter/bpf_map")
int counters(struct bpf_iter__bpf_map *context)
{
	if (context->map)
		return 0;
	INJECT_PLACES(PRINT)
	BPF_SEQ_PRINTF(context->meta->seq, "lost: %llu\n", inject.lost);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
