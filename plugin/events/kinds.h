/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events that are counted, in the order of a vector; docs/reference/events.md defines each. */
#ifndef LSMETER_EVENTS_KINDS_H
#define LSMETER_EVENTS_KINDS_H

enum event {
	EV_INSNS,
	EV_LOADS,
	EV_STORES,
	EV_DIRECT_CALLS,
	EV_INDIRECT_CALLS,
	EV_INDIRECT_JUMPS,
	EV_RETURNS,
	EV_BRANCHES,
	EV_TAKEN,
	EV_LOCKED,
	EV_IF_SWITCHES,
	EV_POPF,
	EV_SERIALISING,
	EV_SMAP_SWITCHES,
	EV_SWAPGS,
	EV_MODE_SWITCHES,
	EV_CMPXCHG,
	EV_STRING_STEPS,
	EV_DIVIDES,
	EV_CODE_LINES,
	EV_CODE_PAGES,
	EV_DATA_LINES,
	EV_DATA_PAGES,
	EV_L1I_MISSES,
	EV_L1D_MISSES,
	EV_L2_MISSES,
	EV_ITLB_MISSES,
	EV_DTLB_MISSES,
	EV_STLB_MISSES,
	EV_BRANCH_MISSES,
	EV_RETURN_MISSES,
	EV_INDIRECT_MISSES,
	EV_FLOW_CYCLES,
	EVENTS,
};

#define EVENT_NAMES \
	"insns loads stores direct_calls indirect_calls indirect_jumps returns branches taken " \
	"locked if_switches popf serialising smap_switches swapgs mode_switches cmpxchg " \
	"string_steps divides code_lines code_pages data_lines data_pages l1i_misses " \
	"l1d_misses l2_misses itlb_misses dtlb_misses stlb_misses branch_misses return_misses " \
	"indirect_misses flow_cycles"

#endif
