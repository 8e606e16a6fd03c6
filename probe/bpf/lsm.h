/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts BPF programs on LSM hooks; used inside probe/bpf only. */
#ifndef LSMETER_BPF_LSM_H
#define LSMETER_BPF_LSM_H

#include <linux/bpf.h>
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

/* Load and attach a program. Return the link's file descriptor, or -errno with bpf_error set. */
int bpf_attach_lsm(const struct lsm_program *program);

#endif
