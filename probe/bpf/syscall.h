/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bpf(2) system call and the text of the last error; used inside probe/bpf only. */
#ifndef LSMETER_BPF_SYSCALL_H
#define LSMETER_BPF_SYSCALL_H

#include <linux/bpf.h>

/* Call bpf(2). Return what it returns: a file descriptor or 0, or -errno. */
int bpf_call(enum bpf_cmd command, union bpf_attr *attr);

/* Set the text of the last error and return -code, for `return bpf_fail(ENOENT, "...")`. */
int bpf_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The text of the last error, one line; empty when there was none. */
const char *bpf_error(void);

#endif
