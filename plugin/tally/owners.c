// SPDX-License-Identifier: GPL-2.0-or-later
#include "owners.h"

#include "code.h"

#include <stdlib.h>
#include <string.h>

struct owners owners;

/*
 * What a system call begins with. Calls without arguments have one function of several names, of
 * which the symbol file has the shorter; others may have both, one called by the other.
 */
static bool is_call(const char *name)
{
	return !strncmp(name, guest_code->call, strlen(guest_code->call)) ||
	       !strncmp(name, "__do_sys_", 9);
}

/* The number of one more system call, or -1. */
static int call_number(const char *name)
{
	if (owners.calls == MAX_CALLS)
		return -1;
	owners.call[owners.calls] = strndup(name, strcspn(name, "@"));
	return owners.call[owners.calls] ? (int)owners.calls++ : -1;
}

/* The counter of a module's code: its number among those met so far; 0: there is no room. */
static unsigned char module_number(const char *name)
{
	unsigned int i;

	for (i = 1; i < owners.modules; i++) {
		if (!strcmp(owners.module[i], name))
			return (unsigned char)(COUNT_KERNEL + i);
	}
	if (i == MAX_MODULES)
		return 0;
	owners.module[owners.modules++] = name;
	return (unsigned char)(COUNT_KERNEL + i);
}

bool owners_sort(void)
{
	owners.hook_of = calloc(owners.symbols.count, sizeof(*owners.hook_of));
	owners.call_of = calloc(owners.symbols.count, sizeof(*owners.call_of));
	owners.counter_of = calloc(owners.symbols.count, sizeof(*owners.counter_of));
	if (!owners.hook_of || !owners.call_of || !owners.counter_of)
		return false;
	owners.module[owners.modules++] = "other";
	for (size_t i = 0; i < owners.symbols.count; i++) {
		const struct symbol *symbol = &owners.symbols.list[i];
		const char *owner = strchr(symbol->name, '@');

		owners.hook_of[i] = owners.call_of[i] = -1;
		owners.counter_of[i] = COUNT_KERNEL;
		if (is_call(symbol->name)) {
			owners.call_of[i] = call_number(symbol->name);
			if (owners.call_of[i] < 0)
				return false;
		}
		/* What ends a function, such as its cold part, has no owner of its own. */
		if (owner)
			owners.counter_of[i] = module_number(owner + 1);
		if (!owners.counter_of[i])
			return false;
		if (!owner || strcmp(owner, "@framework") || strncmp(symbol->name, "security_", 9))
			continue;
		if (owners.hooks == MAX_HOOKS)
			return false;
		owners.hook[owners.hooks] =
			strndup(symbol->name + 9, (size_t)(owner - symbol->name) - 9);
		if (!owners.hook[owners.hooks])
			return false;
		owners.hook_of[i] = (int)owners.hooks++;
	}
	return true;
}

static size_t number_of(const struct symbol *symbol)
{
	return (size_t)(symbol - owners.symbols.list);
}

int owners_hook(const struct symbol *symbol)
{
	return symbol ? owners.hook_of[number_of(symbol)] : -1;
}

int owners_call(const struct symbol *symbol)
{
	return symbol ? owners.call_of[number_of(symbol)] : -1;
}

bool owners_is_module(const struct symbol *symbol)
{
	return symbol && owners.counter_of[number_of(symbol)] > COUNT_KERNEL;
}

unsigned int owners_counter(uint64_t addr)
{
	const struct symbol *symbol = symbols_last(&owners.symbols, addr);

	return symbol ? owners.counter_of[number_of(symbol)] : COUNT_KERNEL;
}

uint64_t owners_end(const struct symbol *symbol)
{
	size_t next = number_of(symbol) + 1;

	return next < owners.symbols.count ? owners.symbols.list[next].addr
					   : owners.symbols.text_end;
}
