/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The symbol file: where each function of the guest starts, and what kind of code it is. */
#ifndef LSMETER_SYMBOLS_H
#define LSMETER_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum symbol_kind {
	SYM_FUNCTION = 'f',
	SYM_SYSCALL = 's',   /* entry from user space by a system call */
	SYM_FAULT = 'x',     /* exception whose instruction is executed again afterwards */
	SYM_TRAP = 't',	     /* exception after its instruction */
	SYM_INTERRUPT = 'i', /* asynchronous: no part of the operation that it falls into */
	SYM_SYNC = 'y',	     /* one of system call, exception, trap: the last instruction tells */
	SYM_SWITCH = 'w',    /* switches to the stack of another task */
	SYM_START = 'p',     /* where a task that was just made begins */
	SYM_DEAD = 'd',	     /* what a task runs last: it is switched away from for ever */
	SYM_NONE = 'n',	     /* no function: a thunk, a cold part, a label in entry code */
};

struct symbol {
	uint64_t addr;
	enum symbol_kind kind;
	const char *name;
};

struct symbols {
	struct symbol *list; /* by ascending address */
	size_t count;
	uint64_t text_start; /* kernel code outside of these two has no symbol: it was loaded, */
	uint64_t text_end;   /* or generated at run time */
};

/*
 * Read the symbol file. Its first line is "lsmeter-symbols 1 START END COUNT", each further line
 * "ADDR KIND NAME", addresses in hexadecimal and strictly ascending. Returns 0, or -1 with a
 * one-line reason in error.
 */
int symbols_read(struct symbols *symbols, const char *path, char *error, size_t error_bytes);

/* Whether code at addr is the kernel's. */
bool symbols_kernel(const struct symbols *symbols, uint64_t addr);

/* The last symbol that starts at addr or below, whatever it is, or NULL. */
const struct symbol *symbols_last(const struct symbols *symbols, uint64_t addr);

/* The function that starts exactly at addr, or NULL. */
const struct symbol *symbols_at(const struct symbols *symbols, uint64_t addr);

/* The function that the code at addr lies in, or NULL. */
const struct symbol *symbols_around(const struct symbols *symbols, uint64_t addr);

#endif
