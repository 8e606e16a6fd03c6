/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the kernel keeps the numbers of processes.
 *
 * They go round, and each 64 of them are one node of a tree. A process whose number is the only one
 * of its node pays for making it and for giving it back, 240 instructions; how often, and in which
 * readings, depends on how many processes there were before.
 */
#ifndef LSMETER_LAYOUT_PIDS_H
#define LSMETER_LAYOUT_PIDS_H

/*
 * Let there be a few nodes only, in each of which a process waits for as long as the guest runs.
 * Returns how many are held, or -errno.
 */
int pids_pin_nodes(void);

#endif
