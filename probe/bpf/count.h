/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often each function security_* of the running kernel is called in a stretch of one process:
 * BPF programs at the functions' entries, which need a kernel with BPF and its own type information
 * (CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT, CONFIG_DEBUG_INFO_BTF, CONFIG_FUNCTION_TRACER) and root.
 *
 * Beginning and ending the stretch is a store to memory that the programs share: no system call,
 * so nothing that sets up or undoes an operation is counted.
 */
#ifndef LSMETER_BPF_COUNT_H
#define LSMETER_BPF_COUNT_H

#include "protocol/limits.h"

#include <stdbool.h>
#include <stdint.h>

#define COUNTED_NAME_SIZE 64

/* All zero where no hooks are counted. */
struct bpf_count {
	struct counted {
		char name[COUNTED_NAME_SIZE]; /* without security_ */
		int function_id;
	} hook[MAX_HOOKS];
	unsigned int n_hooks;
	bool too_many;
	char refused[1024]; /* names, separated by commas, of what takes no program; or "" */
	int first_refusal;
	volatile struct bpf_count_shared *shared;
};

/*
 * Put a counting program on every function security_*; more than MAX_HOOKS are an error. 0, or
 * -errno with a line in bpf_error(). */
int bpf_count_open(struct bpf_count *count);

/* Cause calls whose hooks are known, and compare; 0, or -errno with a line in bpf_error(). */
int bpf_count_check(const struct bpf_count *count);

/* Set all counts to 0, and count what this process calls from now on; does nothing if not open. */
void bpf_count_begin(const struct bpf_count *count, bool everyone);

/* Count no longer. */
void bpf_count_end(const struct bpf_count *count);

/* The calls of one function in the stretch that has ended. */
uint64_t bpf_count_calls(const struct bpf_count *count, unsigned int index);

/* The reason of the last failure, one line. */
const char *bpf_error(void);

#endif
