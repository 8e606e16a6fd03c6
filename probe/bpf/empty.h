/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BPF programs that do nothing but grant, one on each hook that file operations reach: what calling
 * programs costs. They stay until this process ends. Needs the same as the programs of
 * tunable.h.
 */
#ifndef LSMETER_BPF_EMPTY_H
#define LSMETER_BPF_EMPTY_H

/*
 * Attach the programs and check that the kernel calls them, by opening, reading and writing a file
 * of `directory`. Hooks that this kernel has not got, or has closed to programs, are left out.
 * Return the number of programs, or -errno with a line in bpf_error().
 */
int bpf_empty_load(const char *directory);

/* The hooks that have a program, separated by commas. */
const char *bpf_empty_hooks(void);

#endif
