// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The list of benchmarks: what ops/ registered, printed for the host or looked up by id.
 */
#include "bench.h"
#include "sys.h"

#include <stdio.h>
#include <string.h>

void bench_id(char *text, size_t size, const struct op *op, const struct variant *variant)
{
	int n = snprintf(text, size, "%s%s%s", op->name, *variant->params ? " " : "",
			 variant->params);

	for (int i = 0; i < n && (size_t)i < size; i++) {
		if (text[i] == ',')
			text[i] = ' ';
	}
}

bool bench_find(const char *id, struct bench *bench)
{
	char name[128];

	for_each_op(entry)
	{
		for (size_t i = 0; i < (*entry)->n_variants; i++) {
			bench_id(name, sizeof(name), *entry, &(*entry)->variants[i]);
			if (strcmp(name, id))
				continue;
			*bench = (struct bench){
				.op = *entry,
				.variant = &(*entry)->variants[i],
				.fd = {-1, -1},
			};
			return true;
		}
	}
	return false;
}

/* Names of the system calls that cycles are made of. */
static const char *call_name(long nr)
{
	static const struct {
		long nr;
		const char *name;
	} names[] = {
		{SYS_chmod, "chmod"},	{SYS_close, "close"},	     {SYS_creat, "creat"},
		{SYS_lseek, "lseek"},	{SYS_getppid, "getppid"},    {SYS_getuid, "getuid"},
		{SYS_mkdir, "mkdir"},	{SYS_newfstatat, "fstatat"}, {SYS_open, "open"},
		{SYS_openat, "openat"}, {SYS_read, "read"},	     {SYS_rename, "rename"},
		{SYS_rmdir, "rmdir"},	{SYS_stat, "stat"},	     {SYS_symlink, "symlink"},
		{SYS_unlink, "unlink"}, {SYS_wait4, "wait4"},	     {SYS_write, "write"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].nr == nr)
			return names[i].name;
	}
	return "?"; /* the catalogue's test finds it */
}

static void print_calls(const struct bench *bench, unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++)
		printf("%s%s", i > from ? "+" : "", call_name(bench->call[i].nr));
}

static void print_variant(const struct op *op, const struct variant *variant)
{
	/* The first cycle may begin at the end of a file; the second never does. */
	struct bench bench = {.op = op, .variant = variant, .fd = {-1, -1}, .serial = 1};

	op->arm(&bench);
	printf("%s\t%s\t%s\t%s\t%d\t%s\t", op->suite, op->name, variant->params, variant->origin,
	       op->control, variant->title);
	print_calls(&bench, bench.first, bench.first + bench.calls);
	putchar('\t');
	if (op->cycle)
		fputs(op->cycle, stdout);
	else
		print_calls(&bench, 0, bench.length);
	putchar('\n');
}

void catalogue_print(void)
{
	puts("lsmeter-catalogue\t2");
	for_each_op(entry)
	{
		for (size_t i = 0; i < (*entry)->n_variants; i++)
			print_variant(*entry, &(*entry)->variants[i]);
	}
}
