/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Short forms for files in ops/ that register many operations of one SUITE.
 */
#ifndef LSMETER_OPS_DEFINE_H
#define LSMETER_OPS_DEFINE_H

#include "arch/sys.h"
#include "ops/bench.h"
#include "sampler/region.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The operation called `label`; what follows are further members of struct op. */
#define DEFINE_OP(ident, label, ...) \
	static const struct op ident##_op = {.suite = SUITE, \
					     .name = label, \
					     .variants = ident##_variants, \
					     .n_variants = ARRAY_SIZE(ident##_variants), \
					     .arm = ident##_arm, \
					     __VA_ARGS__}; \
	REGISTER_OP(ident##_op)

#define VARIANT(parameters, text, number) \
	{.params = parameters, .origin = ORIGIN_OWN, .title = text, .value = number}

/* An operation without parameters. */
#define ALONE(ident, text) static const struct variant ident##_variants[] = {VARIANT("", text, 0)}

#define VARIANTS(ident, ...) static const struct variant ident##_variants[] = {__VA_ARGS__}

/* Put a call at the end of the cycle. */
static inline struct call *push(struct bench *bench, struct call call)
{
	bench->call[bench->length] = call;
	return &bench->call[bench->length++];
}

/* The region is from `first` on to what was pushed up to now. */
static inline void region_from(struct bench *bench, unsigned int first)
{
	bench->first = first;
	bench->calls = bench->length - first;
}

/* run() of calls in a row, each with all its arguments and the descriptors of earlier ones. */
static inline void run_in_row(struct bench *bench)
{
	for (unsigned int i = bench->first; i < bench->first + bench->calls; i++) {
		call_bind(bench, i);
		call_all(&bench->call[i]);
		if (bench->call[i].result < 0)
			return; /* the next one might wait for ever; this one is what is wrong */
	}
}

/* Empty the cycle before calls are pushed. */
static inline void cycle_begin(struct bench *bench)
{
	bench->length = bench->first = bench->calls = 0;
}

/* One call is the cycle and the region. */
static inline int one(struct bench *bench, struct call call)
{
	bench->call[0] = call;
	bench->first = 0;
	ONE_CALL(bench);
	return 0;
}

/* A file of so many bytes, in pieces of at most 4 KiB; 0 or -errno. */
static inline int make_sized(const char *name, long size)
{
	static const char data[4096];
	int fd = sys_open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);
	long n = fd;

	for (long left = size; n >= 0 && left > 0; left -= n) {
		n = sys_write(fd, data, left < 4096 ? (unsigned long)left : sizeof(data));
		if (n == 0)
			n = -EIO;
	}
	if (fd >= 0)
		sys_close(fd);
	return n < 0 ? (int)n : 0;
}

#endif
