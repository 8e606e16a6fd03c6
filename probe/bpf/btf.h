/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds functions in the type information (BTF) that a kernel gives of itself. */
#ifndef LSMETER_BPF_BTF_H
#define LSMETER_BPF_BTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

/* Takes the type id and the name of a function, which lasts until it returns; true: look no
 * further. */
typedef bool (*btf_function_fn)(int id, const char *name, void *context);

/*
 * Call `found` for every function in BTF data of `size` bytes. Return the id that it wanted, 0 when
 * it wanted none, or -EINVAL when the data is no sound BTF. Reads nothing outside the data.
 */
int btf_each_function(const void *data, size_t size, btf_function_fn found, void *context);

/* The same in the running kernel's BTF; the errors also have a text (bpf_error). */
int btf_each_kernel_function(btf_function_fn found, void *context);

/*
 * Find the function `name` in BTF data of `size` bytes. Return its type id (above 0), -ENOENT when
 * there is none, or -EINVAL when the data is no sound BTF. Reads nothing outside the data.
 */
int btf_find_function(const void *data, size_t size, const char *name);

/* The same in the running kernel's BTF; the errors also have a text (bpf_error). */
int btf_find_kernel_function(const char *name);

#endif
