// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The list of benchmarks: what ops/ registered, printed for the host or looked up by id.
 */
#include "arch/sys.h"
#include "ops/bench.h"
#include "protocol/limits.h"

#include <stdio.h>
#include <string.h>

bool in_guest;

static void write_id(char *text, size_t size, const char *name, const char *params)
{
	int n = snprintf(text, size, "%s%s%s", name, *params ? " " : "", params);

	for (int i = 0; i < n && (size_t)i < size; i++) {
		if (text[i] == ',')
			text[i] = ' ';
	}
}

void bench_id(char *text, size_t size, const struct op *op, const struct variant *variant)
{
	write_id(text, size, op->name, variant->params);
}

static bool find_own(const char *suite, const char *id, struct bench *bench)
{
	char name[128];

	for_each_op(entry)
	{
		for (size_t i = 0; !strcmp((*entry)->suite, suite) && i < (*entry)->n_variants;
		     i++) {
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

#define for_each_row(row) \
	for (const struct row *const *table = __start_lsmeter_rows; table < __stop_lsmeter_rows; \
	     table++) \
		for (const struct row *row = *table; row->suite; row++)

bool bench_find(const char *suite, const char *id, struct bench *bench)
{
	char name[128];

	if (find_own(suite, id, bench))
		return true;
	for_each_row(row)
	{
		write_id(name, sizeof(name), row->name, row->params);
		if (!strcmp(row->suite, suite) && !strcmp(name, id))
			return find_own(row->of, row->same, bench);
	}
	return false;
}

/* All system calls of this architecture, from the C library's headers; the Makefile writes it. */
static const struct {
	long nr;
	const char *name;
} call_names[] = {
#include "call_names.inc"
};

#define PATH_IS(place) (1u << (place))

/* What else is known of a call. */
struct call_traits {
	long nr;
	const char *usual;  /* what people call it; NULL: its name */
	const char *source; /* what the kernel's source calls it (SYSCALL_DEFINE); NULL: its name */
	unsigned int paths; /* which arguments are paths that are looked up */
};

static const struct call_traits call_traits[] = {
	ARCH_CALL_TRAITS,
	{SYS_openat, NULL, NULL, PATH_IS(1)},
	{SYS_execve, NULL, NULL, PATH_IS(0)},
	{SYS_fstat, NULL, "newfstat", 0},
	{SYS_uname, NULL, "newuname", 0},
	{SYS_sendfile, NULL, "sendfile64", 0},
	{SYS_umount2, "umount", "umount", PATH_IS(0)},
	{SYS_mount, NULL, NULL, PATH_IS(1)},
	{SYS_chdir, NULL, NULL, PATH_IS(0)},
	{SYS_chroot, NULL, NULL, PATH_IS(0)},
	{SYS_truncate, NULL, NULL, PATH_IS(0)},
	{SYS_fchownat, NULL, NULL, PATH_IS(1)},
	{SYS_utimensat, NULL, NULL, PATH_IS(1)},
	{SYS_readlinkat, NULL, NULL, PATH_IS(1)},
	{SYS_mknodat, NULL, NULL, PATH_IS(1)},
	{SYS_getxattr, NULL, NULL, PATH_IS(0)},
	{SYS_setxattr, NULL, NULL, PATH_IS(0)},
	{SYS_listxattr, NULL, NULL, PATH_IS(0)},
	{SYS_removexattr, NULL, NULL, PATH_IS(0)},
	{SYS_inotify_add_watch, NULL, NULL, PATH_IS(1)},
	{SYS_fanotify_mark, NULL, NULL, PATH_IS(4)},
};

static const char *name_of(const struct call *call)
{
	for (size_t i = 0; i < ARRAY_SIZE(call_names); i++) {
		if (call_names[i].nr == call->nr)
			return call_names[i].name;
	}
	return "?"; /* the catalogue's test finds it */
}

static const struct call_traits *traits_of(const struct call *call)
{
	static const struct call_traits none;

	for (size_t i = 0; i < ARRAY_SIZE(call_traits); i++) {
		if (call_traits[i].nr == call->nr)
			return &call_traits[i];
	}
	return &none;
}

static const char *usual_name(const struct call *call)
{
	const char *usual = traits_of(call)->usual;

	return usual ? usual : name_of(call);
}

static const char *source_name(const struct call *call)
{
	const char *source = traits_of(call)->source;

	return source ? source : name_of(call);
}

static unsigned int components_of(const char *path)
{
	unsigned int count = 0;

	for (bool inside = false; *path; path++) {
		count += *path != '/' && !inside;
		inside = *path != '/';
	}
	return count;
}

/* The length of the longest path among the arguments of the measured calls; 0 without a path. */
static unsigned int components(const struct bench *bench)
{
	unsigned int longest = bench->op->components;

	for (unsigned int i = bench->first; i < bench->first + bench->calls; i++) {
		const struct call *call = &bench->call[i];

		for (unsigned int k = 0; k < ARRAY_SIZE(call->arg); k++) {
			unsigned int count = 0;

			if (traits_of(call)->paths & PATH_IS(k))
				count = components_of((const char *)call->arg[k]);
			if (count > longest)
				longest = count;
		}
	}
	return longest;
}

/* Calls of the region, as the kernel's source names them. */
static void print_region(const struct bench *bench)
{
	unsigned int end = bench->first + bench->calls;

	if (bench->op->calls)
		fputs(bench->op->calls, stdout);
	for (unsigned int i = bench->first; !bench->op->calls && i < end; i++)
		printf("%s%s", i > bench->first ? "+" : "", source_name(&bench->call[i]));
}

static void print_cycle(const struct bench *bench)
{
	if (bench->op->cycle)
		fputs(bench->op->cycle, stdout);
	for (unsigned int i = 0; !bench->op->cycle && i < bench->length; i++)
		printf("%s%s", i ? "+" : "", usual_name(&bench->call[i]));
}

/* Under its own name, or under that of a row. */
static void print_variant(const struct op *op, const struct variant *variant, const struct row *row)
{
	/* The first cycle may begin at the end of a file; the second never does. */
	struct bench bench = {.op = op, .variant = variant, .fd = {-1, -1}, .serial = 1};

	op->arm(&bench);
	printf("%s\t%s\t%s\t%s\t%d\t%s\t", row ? row->suite : op->suite, row ? row->name : op->name,
	       row ? row->params : variant->params, row ? ORIGIN_OWN : variant->origin, op->control,
	       row ? row->title : variant->title);
	print_region(&bench);
	putchar('\t');
	print_cycle(&bench);
	printf("\t%u\t%d\n", components(&bench), variant->populous);
}

void catalogue_print(void)
{
	struct bench bench;

	printf("lsmeter-catalogue\t%d\n", CATALOGUE_VERSION);
	for_each_op(entry)
	{
		for (size_t i = 0; i < (*entry)->n_variants; i++)
			print_variant(*entry, &(*entry)->variants[i], NULL);
	}
	for_each_row(row)
	{
		if (find_own(row->of, row->same, &bench))
			print_variant(bench.op, bench.variant, row);
		else /* the catalogue's reader refuses it */
			printf("%s\t%s: no such row\n", row->suite, row->name);
	}
}
