/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose code the kernel's functions are: which module, and which hook. */
#ifndef LSMETER_OWNERS_H
#define LSMETER_OWNERS_H

#include "accounts.h"
#include "symbols.h"

#include <stdbool.h>
#include <stdint.h>

/* Counters: user space, the kernel without security modules, then each module. */
enum { COUNT_USER, COUNT_KERNEL };

struct owners {
	struct symbols symbols;
	const char *module[MAX_MODULES]; /* by counter, from COUNT_KERNEL on */
	unsigned int modules;
	const char *hook[MAX_HOOKS]; /* without security_ */
	unsigned int hooks;
	const char *call[MAX_CALLS]; /* functions that system calls begin with */
	unsigned int calls;
	int *hook_of;		   /* by symbol: the number of the hook, or -1 */
	int *call_of;		   /* by symbol: the same of a system call */
	unsigned char *counter_of; /* by symbol */
};

extern struct owners owners;

/*
 * Say of each symbol whose it is. A module's name stands after an @; modules have functions of
 * their own that are called like hooks, which are the framework's. False without memory or room.
 */
bool owners_sort(void);

/* The number of the hook that a function is, or -1; symbol may be NULL. */
int owners_hook(const struct symbol *symbol);

/* The same for system calls. */
int owners_call(const struct symbol *symbol);

/* Whether a function is a module's, or the framework's; symbol may be NULL. */
bool owners_is_module(const struct symbol *symbol);

/* The counter of the code at this address. */
unsigned int owners_counter(uint64_t addr);

/* Where a function ends. */
uint64_t owners_end(const struct symbol *symbol);

#endif
