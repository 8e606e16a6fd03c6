// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * inject TEXT: attaches the programs, with the costs of TEXT (docs/concepts/inject-module.md).
 */
#include "inject.h"

#include "embedded.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

EMBED(inject, "inject.bpf.o");

/* Calls in which a share without a period is exact. */
#define BLOCK	  20
#define MAX_COSTS 16

static const struct {
	const char *name;
	unsigned int most_insns;
} places[] = {
#define PLACE(name, section, thousands) {#name, (thousands) * INJECT_LARGE},
	INJECT_PLACES(PLACE)};

static struct inject_state state;

/* Which calls of a place cost more: so many of 100, or one of so many. */
struct shape {
	char name[8]; /* always, share, random or every */
	unsigned int number;
	uint64_t seed;
	unsigned int left; /* of a block of a share without a period, that still have to */
};

static bool is_hit(struct shape *shape, unsigned int call)
{
	unsigned int number = shape->number;

	if (*shape->name == 's')
		return (call + 1) * number / 100 != call * number / 100;
	if (*shape->name == 'e')
		return (call + 1) % number == 0;
	if (*shape->name == 'a')
		return true;
	if (call % BLOCK == 0)
		shape->left = number * BLOCK / 100;
	shape->seed = shape->seed * 0x5deece66dull + 0xb;
	if ((shape->seed >> 16 & UINT32_MAX) * (BLOCK - call % BLOCK) >> 32 >= shape->left)
		return false;
	shape->left--;
	return true;
}

/* After how many calls the shape comes again; 0 if it is none. */
static unsigned int period(const struct shape *shape)
{
	unsigned int number = shape->number;

	if (!strcmp(shape->name, "always"))
		return 1;
	if (!strcmp(shape->name, "every"))
		return number > 1 && number <= INJECT_LENGTH ? number : 0;
	if (!number || number >= 100)
		return 0;
	if (!strcmp(shape->name, "share"))
		return 100;
	return !strcmp(shape->name, "random") && number * BLOCK % 100 == 0 ? INJECT_LENGTH : 0;
}

/* PLACE:insns=N[+N...][,SHAPE=NUMBER] */
static int read_place(const char *word)
{
	struct shape shape = {.name = "always"};
	struct inject_cost costs[MAX_COSTS];
	char name[16], list[128];
	unsigned int place = 0, length, count = 0, turn = 0;
	int end = 0;
	int got = sscanf(word, "%15[a-z_]:insns=%127[0-9+]%n,%7[a-z]=%5u%n", name, list, &end,
			 shape.name, &shape.number, &end);

	if ((got != 2 && got != 4) || word[end])
		return fail(EINVAL, "inject: '%.60s' is not PLACE:insns=N+N,SHAPE=N", word);
	while (place < INJECT_PLACE_COUNT && strcmp(name, places[place].name))
		place++;
	if (place == INJECT_PLACE_COUNT || state.place[place].length)
		return fail(EINVAL, "inject: no place '%s', or named twice", name);
	for (char *item = strtok(list, "+"); item; item = strtok(NULL, "+")) {
		unsigned long insns = strtoul(item, NULL, 10);

		if (count == MAX_COSTS || insns % INJECT_SMALL || insns > places[place].most_insns)
			return fail(ERANGE,
				    "inject: %s: '%.20s' is no multiple of %d up to %u, or one of"
				    " more than %d costs",
				    name, item, INJECT_SMALL, places[place].most_insns, MAX_COSTS);
		costs[count].large = (unsigned short)(insns / INJECT_LARGE);
		costs[count++].small = (unsigned short)(insns % INJECT_LARGE / INJECT_SMALL);
	}
	length = period(&shape) * count;
	if (!length || length > INJECT_LENGTH)
		return fail(ERANGE, "inject: %s: no costs, or no such shape: %s=%u", name,
			    shape.name, shape.number);
	state.place[place].length = length;
	shape.seed = (place + 1) * 0x9e3779b97f4a7c15ull;
	for (unsigned int i = 0; i < length; i++)
		if (is_hit(&shape, i))
			state.place[place].cost[i] = costs[turn++ % count];
	return 0;
}

static int read_text(char *text)
{
	int error = 0;

	if (strlen(text) >= sizeof(state.text))
		return fail(E2BIG, "inject: more than %zu bytes", sizeof(state.text) - 1);
	strcpy(state.text, text);
	if (!strcmp(text, "none"))
		text = NULL;
	for (char *word; !error && (word = strsep(&text, ";"));)
		error = read_place(word);
	for (unsigned int i = 0; i < INJECT_PLACE_COUNT; i++)
		if (!state.place[i].length)
			state.place[i].length = 1; /* one cost, of 0 */
	return error;
}

#if defined(__x86_64__)

static const unsigned char fills[][5] = {{0xb8, 1, 0, 0, 0}}; /* mov $1, %eax */
static const unsigned char add[] = {0x48, 0x83, 0xc7, 1};     /* add $1, %rdi */

/* cmp ..., %rdi and jae before, jmp to them behind; jumps are short or not */
static bool is_loop(const unsigned char *at, const unsigned char *back)
{
	const unsigned char *jump = at[-2] == 0x73 ? at - 2 : at - 6;
	int distance;

	if (memcmp(jump - 3, "\x48\x39", 2) || (*jump != 0x73 && memcmp(jump, "\x0f\x83", 2)))
		return false;
	memcpy(&distance, back + 1, sizeof(distance));
	return *back == 0xe9 ? back + 5 + distance == jump - 3
			     : *back == 0xeb && back + 2 + (signed char)back[1] == jump - 3;
}

#elif defined(__aarch64__)

static const unsigned char fills[][4] = {
	{0x27, 0x00, 0x80, 0xd2}, /* mov x7, #1: 6.12 */
	{0x28, 0x00, 0x80, 0xd2}, /* mov x8, #1: 7.2 */
};
static const unsigned char add[] = {0x00, 0x04, 0x00, 0x91}; /* add x0, x0, #1 */

static uint32_t word(const unsigned char *at)
{
	uint32_t insn;

	memcpy(&insn, at, sizeof(insn));
	return insn;
}

/* cmp x0, ... and b.hs before, b to them behind */
static bool is_loop(const unsigned char *at, const unsigned char *back)
{
	ptrdiff_t words = (at - 8 - back) / 4;

	return (word(at - 8) & 0xffe0ffff) == 0xeb00001f &&
	       (word(at - 4) & 0xff00001f) == 0x54000002 &&
	       word(back) == (0x14000000 | ((uint32_t)words & 0x3ffffff));
}

#endif

/* How many loops of `insns` instructions machine code has, of what BURN() is made of. */
static unsigned int count_loops(const unsigned char *code, size_t size, size_t insns,
				const unsigned char *fill)
{
	const size_t each = sizeof(fills[0]), body = (insns - 4) * each + sizeof(add);
	unsigned char wanted[INJECT_LARGE * sizeof(fills[0])];
	const unsigned char *at = code - 1, *last = code + size;
	unsigned int found = 0;

	for (size_t i = 0; i < insns - 4; i++)
		memcpy(wanted + i * each, fill, each);
	memcpy(wanted + body - sizeof(add), add, sizeof(add));
	while ((at = memmem(at + 1, (size_t)(last - at - 1), wanted, body)))
		if (at - code >= 16 && last - at >= (ptrdiff_t)body + 5)
			found += is_loop(at, at + body);
	return found;
}

/* Whether machine code has one such loop. */
static bool has_loop(const unsigned char *code, size_t size, size_t insns)
{
	unsigned int found = 0;

	for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]); i++)
		found += count_loops(code, size, insns, fills[i]);
	return found == 1;
}

/* A cost is known only if the kernel makes of the loops what they are thought to be. */
static int check_code(struct bpf_program *program)
{
	static unsigned char code[1 << 16];
	struct bpf_prog_info info = {
		.jited_prog_insns = (uintptr_t)code,
		.jited_prog_len = sizeof(code),
	};
	unsigned int size = sizeof(info);
	int error = bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size);

	if (error)
		return fail(-error, "inject: %s: reading its machine code: %s",
			    bpf_program__name(program), strerror(-error));
	if (info.jited_prog_len > sizeof(code) || !info.jited_prog_insns ||
	    !has_loop(code, info.jited_prog_len, INJECT_LARGE) ||
	    !has_loop(code, info.jited_prog_len, INJECT_SMALL))
		return fail(EOPNOTSUPP,
			    "inject: %s: the kernel makes other machine code of its loops, so its"
			    " cost is not known",
			    bpf_program__name(program));
	return 0;
}

int command_inject(int count, char **word)
{
	struct bpf_object *object;
	struct bpf_program *program;
	unsigned int key = 0;
	int error;

	if (count != 1)
		return fail(EINVAL, "inject: wants one word, the costs");
	error = read_text(word[0]);
	object = error ? NULL : loader_open(&inject);
	if (!object)
		return error ? error : -ENOEXEC;
	error = loader_load(object);
	if (!error) {
		int map = bpf_object__find_map_fd_by_name(object, ".bss");

		error = bpf_map_update_elem(map, &key, &state, BPF_ANY);
		if (error)
			fail(-error, "inject: setting the costs: %s", strerror(-error));
	}
	bpf_object__for_each_program(program, object)
	{
		if (!error && !strncmp(bpf_program__name(program), "inject_", 7))
			error = check_code(program);
	}
	if (!error)
		error = loader_attach(object, "inject");
	bpf_object__close(object);
	return error;
}
