// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * inject TEXT: attaches the programs, with the costs of TEXT as docs/inject-module.md has them.
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

struct settings {
	unsigned int insns[MAX_COSTS];
	unsigned int costs;
	char shape; /* of the calls that cost more: a(lways), s(hare), r(andom), e(very) */
	unsigned int number;
};

static const struct {
	const char *name;
	unsigned int most_insns;
} places[] = {
#define PLACE(name, section, thousands) {#name, (thousands) * INJECT_LARGE},
	INJECT_PLACES(PLACE)};

static struct inject_state state;
static uint64_t seed;

static unsigned int draw(unsigned int below)
{
	seed = seed * 0x5deece66dull + 0xb;
	return (unsigned int)((seed >> 16 & UINT32_MAX) * below >> 32);
}

/* Whether this call costs more; `left` is how many of its block still have to. */
static bool is_hit(const struct settings *settings, unsigned int call, unsigned int *left)
{
	unsigned int number = settings->number;

	if (settings->shape == 's')
		return (call + 1) * number / 100 != call * number / 100;
	if (settings->shape == 'e')
		return (call + 1) % number == 0;
	if (settings->shape == 'a')
		return true;
	if (call % BLOCK == 0)
		*left = number * BLOCK / 100;
	if (draw(BLOCK - call % BLOCK) >= *left)
		return false;
	--*left;
	return true;
}

static int fill(unsigned int place, const struct settings *settings)
{
	unsigned int period = settings->shape == 'a'   ? 1
			      : settings->shape == 's' ? 100
			      : settings->shape == 'e' ? settings->number
						       : INJECT_LENGTH / settings->costs;
	unsigned int left = 0, turn = 0, length = period * settings->costs;

	if (length > INJECT_LENGTH)
		return fail(E2BIG, "inject: %s: more than %d calls", places[place].name,
			    INJECT_LENGTH);
	seed = (place + 1) * 0x9e3779b97f4a7c15ull;
	state.place[place].length = length;
	for (unsigned int i = 0; i < length; i++) {
		struct inject_cost *cost = &state.place[place].cost[i];
		unsigned int insns;

		if (!is_hit(settings, i, &left))
			continue;
		insns = settings->insns[turn++ % settings->costs];
		cost->large = (unsigned short)(insns / INJECT_LARGE);
		cost->small = (unsigned short)(insns % INJECT_LARGE / INJECT_SMALL);
	}
	return 0;
}

static int read_number(const char *word, unsigned int least, unsigned int most,
		       unsigned int *number)
{
	char *end;
	unsigned long value = strtoul(word, &end, 10);

	if (*word < '0' || *word > '9' || *end || value < least || value > most)
		return fail(ERANGE, "inject: '%.40s' is not between %u and %u", word, least, most);
	*number = (unsigned int)value;
	return 0;
}

static int read_costs(unsigned int place, char *list, struct settings *settings)
{
	int error = 0;

	for (char *word; !error && (word = strsep(&list, "+"));) {
		unsigned int *insns = &settings->insns[settings->costs];

		if (settings->costs++ == MAX_COSTS)
			return fail(E2BIG, "inject: more than %d costs in turn", MAX_COSTS);
		error = read_number(word, 0, places[place].most_insns, insns);
		if (!error && *insns % INJECT_SMALL)
			error = fail(EINVAL, "inject: %u is no multiple of %d", *insns,
				     INJECT_SMALL);
	}
	return error;
}

static int read_setting(unsigned int place, char *word, struct settings *settings)
{
	const char *key = strsep(&word, "=");
	int error;

	if (word && !strcmp(key, "insns") && !settings->costs)
		return read_costs(place, word, settings);
	if (!word || settings->shape != 'a' ||
	    (strcmp(key, "share") && strcmp(key, "random") && strcmp(key, "every")))
		return fail(EINVAL, "inject: setting '%.40s' is unknown or has no value", key);
	settings->shape = *key;
	error = read_number(word, *key == 'e' ? 2 : 1, *key == 'e' ? INJECT_LENGTH : 99,
			    &settings->number);
	if (!error && *key == 'r' && settings->number * BLOCK % 100)
		error = fail(EINVAL, "inject: random=%s is no multiple of 5", word);
	return error;
}

static int read_place(char *words)
{
	struct settings settings = {.shape = 'a'};
	const char *name = strsep(&words, ":");
	unsigned int place = 0;
	int error = 0;

	while (place < INJECT_PLACE_COUNT && strcmp(name, places[place].name))
		place++;
	if (place == INJECT_PLACE_COUNT || state.place[place].length)
		return fail(EINVAL, "inject: no place '%.40s', or named twice", name);
	for (char *word; !error && (word = strsep(&words, ","));)
		error = read_setting(place, word, &settings);
	if (!error && !settings.costs)
		error = fail(EINVAL, "inject: no insns for %s", name);
	return error ? error : fill(place, &settings);
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

/* Whether machine code has one loop of `insns` instructions, made of what BURN() is made of. */
static bool has_loop(const unsigned char *code, size_t size, size_t insns)
{
	static const unsigned char compare[] = {0x48, 0x39};	  /* cmp ..., %rdi */
	static const unsigned char fill[] = {0xb8, 1, 0, 0, 0};	  /* mov $1, %eax */
	static const unsigned char add[] = {0x48, 0x83, 0xc7, 1}; /* add $1, %rdi */
	const size_t test = sizeof(compare) + 1;
	unsigned int found = 0;

	for (size_t begin = 0; begin + test + 6 <= size; begin++) {
		/* jae, its target within 127 bytes or not */
		size_t at = begin + test + (code[begin + test] == 0x73 ? 2 : 6), i = 0;
		int back;

		if (memcmp(code + begin, compare, sizeof(compare)) ||
		    (code[begin + test] != 0x73 && memcmp(code + begin + test, "\x0f\x83", 2)))
			continue;
		for (; at + sizeof(fill) <= size && !memcmp(code + at, fill, sizeof(fill)); i++)
			at += sizeof(fill);
		if (i != insns - 4 || at + sizeof(add) + 5 > size ||
		    memcmp(code + at, add, sizeof(add)))
			continue;
		at += sizeof(add);
		memcpy(&back, code + at + 1, sizeof(back));
		if (code[at] == 0xe9 ? begin == at + 5 + (size_t)(long)back
				     : code[at] == 0xeb &&
					       begin == at + 2 + (size_t)(signed char)code[at + 1])
			found++;
	}
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
