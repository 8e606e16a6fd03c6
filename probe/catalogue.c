// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The list of benchmarks: what ops/ registered, printed for the host or looked up by id.
 */
#include "bench.h"

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

void catalogue_print(void)
{
	puts("lsmeter-catalogue\t1");
	for_each_op(entry)
	{
		const struct op *op = *entry;

		for (size_t i = 0; i < op->n_variants; i++) {
			const struct variant *variant = &op->variants[i];

			printf("%s\t%s\t%s\t%s\t%d\t%s\n", op->suite, op->name, variant->params,
			       variant->origin, op->control, variant->title);
		}
	}
}
