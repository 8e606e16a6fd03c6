// SPDX-License-Identifier: GPL-2.0-or-later
#include "observe/count.h"

unsigned int hook_count_size(const struct hook_counts *counts)
{
	return counts->counter.n_names ? counts->counter.n_names : counts->bpf.n_hooks;
}

const char *hook_count_name(const struct hook_counts *counts, unsigned int index)
{
	return counts->counter.n_names ? counts->counter.name[index] : counts->bpf.hook[index].name;
}

void hook_count_begin(struct hook_counts *counts, bool everyone)
{
	if (counts->counter.n_names)
		counter_begin(&counts->counter);
	else
		bpf_count_begin(&counts->bpf, everyone);
}

void hook_count_end(struct hook_counts *counts)
{
	if (counts->counter.n_names)
		counter_end(&counts->counter);
	else
		bpf_count_end(&counts->bpf);
}

uint64_t hook_count_calls(const struct hook_counts *counts, unsigned int index)
{
	return counts->counter.n_names ? counter_moved(&counts->counter, index)
				       : bpf_count_calls(&counts->bpf, index);
}
