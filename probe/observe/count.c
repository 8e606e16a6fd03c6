// SPDX-License-Identifier: GPL-2.0-or-later
#include "observe/count.h"

#include "bpf/count.h"
#include "observe/counter.h"

unsigned int hook_count_size(void)
{
	return counter_size() ? counter_size() : bpf_count_size();
}

const char *hook_count_name(unsigned int index)
{
	return counter_size() ? counter_name(index) : bpf_count_name(index);
}

void hook_count_begin(bool everyone)
{
	if (counter_size())
		counter_begin();
	else
		bpf_count_begin(everyone);
}

void hook_count_end(void)
{
	if (counter_size())
		counter_end();
	else
		bpf_count_end();
}

uint64_t hook_count_calls(unsigned int index)
{
	return counter_size() ? counter_moved(index) : bpf_count_calls(index);
}
