/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small branch predictor without chance: a TAGE for conditional branches, a stack of return
 * addresses, and two tables of indirect targets. docs/reference/events.md describes it to the bit.
 */
#ifndef LSMETER_EVENTS_PREDICTOR_H
#define LSMETER_EVENTS_PREDICTOR_H

#include <stdbool.h>
#include <stdint.h>

#define TAGE_TABLES    4
#define TAGE_ENTRIES   1024
#define BASE_ENTRIES   8192
#define RETURN_ENTRIES 16
#define TARGET_ENTRIES 1024

struct tagged {
	uint16_t tag;
	int8_t counter; /* -4 to 3: taken from 0 on */
	uint8_t useful; /* 0 to 3 */
};

struct target {
	uint64_t from;
	uint64_t to;
};

struct predictor {
	uint64_t history; /* outcomes of conditional branches, the latest in the lowest bit */
	uint32_t path;	  /* of indirect targets */
	uint8_t base[BASE_ENTRIES]; /* 0 to 3: taken from 2 on */
	struct tagged tables[TAGE_TABLES][TAGE_ENTRIES];
	uint64_t returns[RETURN_ENTRIES];
	uint32_t top;
	struct target last[TARGET_ENTRIES];
	struct target by_path[TARGET_ENTRIES];
};

/* Forget everything. */
void predictor_clear(struct predictor *predictor);

/* A conditional branch went this way; returns whether that was foreseen. */
bool predict_branch(struct predictor *predictor, uint64_t from, bool taken);

/* An indirect call or jump led there; returns whether that was foreseen. */
bool predict_target(struct predictor *predictor, uint64_t from, uint64_t to);

/* A call will return to this address. */
void predictor_call(struct predictor *predictor, uint64_t back);

/* Where a return is foreseen to lead; its call is no longer expected to. */
uint64_t predictor_return(struct predictor *predictor);

#endif
