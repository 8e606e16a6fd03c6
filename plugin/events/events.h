/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of a reading: what instructions are, and what models of a processor make of them.
 *
 * Instructions are counted block by block. A block is counted as far as it ran, by the running
 * count of instructions, as soon as that matters: when another block begins, or when what ran so
 * far belongs to a function. So a block that faults in its middle counts to the instruction.
 */
#ifndef LSMETER_EVENTS_EVENTS_H
#define LSMETER_EVENTS_EVENTS_H

#include "block.h"
#include "dataflow.h"
#include "kinds.h"
#include "memory.h"
#include "predictor.h"

#include <stdbool.h>
#include <stdint.h>

struct events {
	bool counting;
	uint32_t region;		 /* whose readings have filled the models */
	uint32_t pending[EVENTS];	 /* counted, and of no function yet */
	const struct event_block *block; /* that runs or ran last, NULL for none */
	uint64_t since;			 /* count of instructions when it began */
	uint32_t done;			 /* its instructions that are counted */
	const struct event_block *left;	 /* it ended, and where it led is not known yet; or NULL */
	uint64_t foreseen;		 /* where a return should lead */
	uint64_t accessed;		 /* count of instructions at the latest access */
	uint32_t loads, stores;		 /* of that instruction */
	uint32_t repeated;		 /* kinds of the instruction that a fault repeats */
	struct memory memory;
	struct predictor predictor;
	struct dataflow dataflow;
	uint64_t quarters; /* of its cycles that are not counted yet */
};

/* All take NULL for a plugin that counts none. Returns false when there is no memory. */
bool events_init(struct events *events);

/*
 * Begin a reading of a region. The models stay as the kernel left them since: what undoes a
 * reading, and what is put off, is seen by them, and counted nowhere.
 */
void events_begin(struct events *events, uint32_t region, uint64_t now);

/* End it; returns whether all of it was counted. */
bool events_end(struct events *events);

/* A block is about to run. */
void events_enter(struct events *events, const struct event_block *block, uint64_t now);

/* Code at this address runs next, led there by an instruction. */
void events_arrive(struct events *events, uint64_t vaddr, uint64_t now);

/* What runs next was led there by no instruction. */
void events_astray(struct events *events);

/* An instruction accesses data. */
void events_access(struct events *events, const struct event_insn *insn, uint64_t vaddr,
		   uint32_t bytes, bool store, uint64_t now);

/* The last instruction faulted: it did not take place, and will be repeated. */
void events_fault(struct events *events, uint64_t now);

/* It did take place after all: what faulted was the one behind it. */
void events_no_repeat(struct events *events);

/* Give what was counted up to `now` to a function, whose counts are in this row. */
void events_charge(struct events *events, uint32_t (*rows)[EVENTS], uint32_t row, uint64_t now);

#endif
