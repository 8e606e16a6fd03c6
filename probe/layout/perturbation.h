/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What may differ between boots without being the setup: what was allocated before, where names
 * lie in a page, the phase of ticks. A count that depends on it must not repeat by chance.
 */
#ifndef LSMETER_LAYOUT_PERTURBATION_H
#define LSMETER_LAYOUT_PERTURBATION_H

#include "ops/bench.h"

/* Allocate objects and pages, how many by the seed; 0: none. */
void perturb_guest(unsigned long seed);

/* The same before a batch of a workload, with sockets and mappings; `number` is the batch's. */
void perturb_batch(unsigned long seed, unsigned int number);

/*
 * Where the mappings of programs begin that are started from here on: up to a page table lower, by
 * the limit of their stacks. Nothing else is random in a guest, and which mappings share a page
 * table decides what a fork costs.
 */
bool perturb_mappings(unsigned long seed);

/*
 * In a suite that watches files, begin with a watch: from the first one on the kernel looks for
 * watches at every access to the file system, 3 instructions each, and the order of benchmarks is
 * another in each boot.
 */
void perturb_watches(const char *suite, const char *directory);

/* A place for a benchmark's running state and its path names, somewhere in a page. */
struct bench *perturb_bench(unsigned long seed, unsigned int index);

#endif
