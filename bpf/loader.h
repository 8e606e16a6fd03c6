/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What loading a set of BPF programs takes, whatever they do. Functions return 0, or -errno with
 * one line on standard error.
 */
#ifndef LSMETER_BPF_LOADER_H
#define LSMETER_BPF_LOADER_H

#include <stdbool.h>
#include <stddef.h>

struct bpf_object;

/* A compiled object that is part of this program. */
struct embedded {
	const char *name;
	const unsigned char *begin, *end;
};

/* Say one line on standard error and return -error, for `return fail(EINVAL, "...")`. */
int fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Read the object; NULL after a line on standard error. */
struct bpf_object *loader_open(const struct embedded *embedded);

/* Give the programs and maps to the kernel; nothing is called yet. */
int loader_load(struct bpf_object *object);

/*
 * Attach every program that was loaded, and pin it under /sys/fs/bpf (mounted if need be), so that
 * it lasts longer than this process. On failure nothing stays attached.
 */
int loader_attach(struct bpf_object *object, const char *name);

/* The number of arguments of the kernel's hook security_<hook>, or 0 if there is no such hook. */
unsigned int loader_hook_arguments(const char *hook);

/* Whether the kernel's structure has this member, not one of a union or structure inside it. */
bool loader_has_member(const char *structure, const char *member);

/* The commands; each takes the words after its name. */
int command_lomac(int count, char **word);
int command_allow(int count, char **word);
int command_inject(int count, char **word);

#endif
