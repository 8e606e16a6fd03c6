// SPDX-License-Identifier: GPL-2.0-only
/*
 * Injected costs - user space interface in securityfs
 *
 * inject/costs: what is injected, as in the parameter but in the module's own
 * order of places; "none"; or "error: " and what is wrong with the parameter.
 * inject/counters: lines of a name and a number; see inject_counters_show().
 */

#include <linux/err.h>
#include <linux/init.h>
#include <linux/security.h>
#include <linux/seq_file.h>

#include "inject.h"

bool inject_active __ro_after_init;

static void inject_cost_show(struct seq_file *seq,
			     const struct inject_cost *cost)
{
	static const char *const keys[] = {
		[INJECT_SHARE] = "share",
		[INJECT_RANDOM] = "random",
		[INJECT_EVERY] = "every",
	};
	unsigned int i;

	for (i = 0; i < cost->n_insns; i++)
		seq_printf(seq, "%s%u", i ? "+" : "insns=", cost->insns[i]);
	if (cost->shape != INJECT_ALWAYS)
		seq_printf(seq, ",%s=%u", keys[cost->shape], cost->number);
}

static int inject_costs_show(struct seq_file *seq, void *unused)
{
	const char *before = "";
	int i;

	if (*inject_error) {
		seq_printf(seq, "error: %s\n", inject_error);
		return 0;
	}
	for (i = 0; i < INJECT_PLACES; i++) {
		if (!inject_places[i].cost.named)
			continue;
		seq_printf(seq, "%s%s:", before, inject_places[i].name);
		inject_cost_show(seq, &inject_places[i].cost);
		before = ";";
	}
	if (inject_bytes_named)
		seq_printf(seq, "%sblob:bytes=%u", before, inject_bytes);
	else if (!*before)
		seq_puts(seq, "none");
	seq_putc(seq, '\n');
	return 0;
}

DEFINE_SHOW_ATTRIBUTE(inject_costs);

/*
 * For each place that was named: its calls, how many of them cost more, and
 * the instructions that all of them cost more, since boot; costs that should
 * have been put off, and were not.
 */
static int inject_counters_show(struct seq_file *seq, void *unused)
{
	struct inject_place *place;
	int i;

	for (i = 0; i < INJECT_PLACES; i++) {
		place = &inject_places[i];
		if (!place->cost.named)
			continue;
		seq_printf(seq, "%s_calls: %lld\n", place->name,
			   atomic64_read(&place->calls));
		seq_printf(seq, "%s_times: %lld\n", place->name,
			   atomic64_read(&place->times));
		seq_printf(seq, "%s_insns: %lld\n", place->name,
			   atomic64_read(&place->insns));
	}
	seq_printf(seq, "lost: %lld\n", atomic64_read(&inject_lost));
	return 0;
}

DEFINE_SHOW_ATTRIBUTE(inject_counters);

static int __init inject_fs_init(void)
{
	struct dentry *dir, *file;

	if (!inject_active)
		return 0;
	dir = securityfs_create_dir(INJECT_NAME, NULL);
	if (IS_ERR(dir))
		return PTR_ERR(dir);
	file = securityfs_create_file("costs", 0444, dir, NULL,
				      &inject_costs_fops);
	if (IS_ERR(file))
		return PTR_ERR(file);
	file = securityfs_create_file("counters", 0444, dir, NULL,
				      &inject_counters_fops);
	return PTR_ERR_OR_ZERO(file);
}
fs_initcall(inject_fs_init);
