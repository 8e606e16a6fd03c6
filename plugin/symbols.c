// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the symbol file strictly: a damaged one must not give half a result. */
#include "symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SYMBOLS 2000000
#define MAX_NAME    511 /* KSYM_NAME_LEN of Linux 6.1 on is 512 */

static bool is_kind(char kind)
{
	return kind && strchr("fsxtiywpdn", kind);
}

static bool read_header(struct symbols *symbols, FILE *file)
{
	char end;
	size_t count;

	if (fscanf(file, "lsmeter-symbols 1 %" SCNx64 " %" SCNx64 " %zu%c", &symbols->text_start,
		   &symbols->text_end, &count, &end) != 4 ||
	    end != '\n' || !count || count > MAX_SYMBOLS ||
	    symbols->text_start >= symbols->text_end)
		return false;
	symbols->list = calloc(count, sizeof(*symbols->list));
	symbols->count = count;
	return symbols->list;
}

static bool read_symbol(struct symbol *symbol, uint64_t previous, FILE *file)
{
	char name[MAX_NAME + 1], kind, end;

	if (fscanf(file, "%" SCNx64 " %c %511[^ \n]%c", &symbol->addr, &kind, name, &end) != 4 ||
	    end != '\n' || !is_kind(kind) || symbol->addr <= previous)
		return false;
	symbol->kind = (enum symbol_kind)kind;
	symbol->name = strdup(name);
	return symbol->name;
}

int symbols_read(struct symbols *symbols, const char *path, char *error, size_t error_bytes)
{
	FILE *file = fopen(path, "r");
	uint64_t previous = 0;
	size_t i;

	if (!file) {
		snprintf(error, error_bytes, "cannot read symbols %s: %s", path, strerror(errno));
		return -1;
	}
	if (!read_header(symbols, file)) {
		snprintf(error, error_bytes, "%s:1: not a symbol file of version 1", path);
		fclose(file);
		return -1;
	}
	for (i = 0; i < symbols->count; i++) {
		if (!read_symbol(&symbols->list[i], previous, file)) {
			snprintf(error, error_bytes, "%s:%zu: malformed or unsorted symbol", path,
				 i + 2);
			fclose(file);
			return -1;
		}
		previous = symbols->list[i].addr;
	}
	fclose(file);
	return 0;
}

bool symbols_kernel(const struct symbols *symbols, uint64_t addr)
{
	/* User space has the lower half of all addresses; so has all of a guest without one. */
	return addr >= symbols->text_start || addr >> 63;
}

const struct symbol *symbols_last(const struct symbols *symbols, uint64_t addr)
{
	size_t low = 0, high = symbols->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->list[middle].addr <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &symbols->list[low - 1] : NULL;
}

const struct symbol *symbols_at(const struct symbols *symbols, uint64_t addr)
{
	const struct symbol *symbol = symbols_last(symbols, addr);

	return symbol && symbol->addr == addr && symbol->kind != SYM_NONE ? symbol : NULL;
}

const struct symbol *symbols_around(const struct symbols *symbols, uint64_t addr)
{
	const struct symbol *symbol = symbols_last(symbols, addr);

	/* What lies beyond was generated at run time, whatever symbol comes before it. */
	return symbol && symbol->kind != SYM_NONE && addr < symbols->text_end ? symbol : NULL;
}
