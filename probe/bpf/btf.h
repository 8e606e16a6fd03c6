/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a function in the type information (BTF) that a kernel gives of itself. */
#ifndef LSMETER_BPF_BTF_H
#define LSMETER_BPF_BTF_H

#include <stddef.h>
#include <stdint.h>

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

/*
 * Find the function `name` in BTF data of `size` bytes. Return its type id (above 0), -ENOENT when
 * there is none, or -EINVAL when the data is no sound BTF. Reads nothing outside the data.
 */
int btf_find_function(const void *data, size_t size, const char *name);

/* The same in the running kernel's BTF; the errors also have a text (bpf_error). */
int btf_find_kernel_function(const char *name);

#endif
