/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bpf(2) system call and the text of the last error; used inside probe/bpf only. */
#ifndef LSMETER_BPF_SYSCALL_H
#define LSMETER_BPF_SYSCALL_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

/* A program on one LSM hook, as instructions; functions are needed for a program with callbacks. */
struct lsm_program {
	const char *hook; /* as security_<hook> without the prefix: inode_permission */
	int function_id;  /* of bpf_lsm_<hook>, or 0: it is looked up */
	const struct bpf_insn *insns;
	uint32_t insn_count;
	int btf_fd; /* of the program's own types, or -1 */
	const struct bpf_func_info *functions;
	uint32_t function_count;
};

/* Call bpf(2). Return what it returns: a file descriptor or 0, or -errno. */
int bpf_call(enum bpf_cmd command, union bpf_attr *attr);

/* Load and attach a program. Return the link's file descriptor, or -errno with bpf_error set. */
int bpf_attach_lsm(const struct lsm_program *program);

/* Set the text of the last error and return -code, for `return bpf_fail(ENOENT, "...")`. */
int bpf_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The text of the last error, one line; empty when there was none. */
const char *bpf_error(void);

#endif
