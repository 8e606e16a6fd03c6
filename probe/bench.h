/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an operation is made of, and how a file in ops/ registers one.
 */
#ifndef LSMETER_BENCH_H
#define LSMETER_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* Where a variant comes from: the study's text names it, or we added it. */
#define ORIGIN_STUDY "asiaccs21"
#define ORIGIN_OWN   "lsmeter"

enum expect {
	EXPECT_VALUE, /* the call returns exactly `want` (0, a byte count, -ENOENT) */
	EXPECT_FD,    /* the call returns a file descriptor */
	EXPECT_PID,   /* the call returns a process number, which may be 0 */
};

/* One system call. `result` is filled in when it is made. */
struct call {
	long nr;
	long arg[4];
	long result;
	enum expect expect;
	long want;
	unsigned int fd_from; /* 1 + the place in the cycle of the call that made arg[0]; 0: none */
};

/* One benchmark of an operation. path and value mean what the operation's file says. */
struct variant {
	const char *params; /* "depth=4"; several are separated by commas; "" for none */
	const char *origin;
	const char *title;
	const char *path;
	long value;
	bool populous; /* its tree is too large for anything but a warm tmpfs */
};

#define MAX_CALLS 2
#define MAX_CYCLE 6

/*
 * The running state of one benchmark, private to its worker. The cycle is one operation with all
 * that prepares and undoes it: call[0] up to call[length - 1], of which `calls` from `first` on are
 * the measured region of a reading.
 */
struct bench {
	const struct op *op;
	const struct variant *variant;
	struct call call[MAX_CYCLE];
	unsigned int first;
	unsigned int calls; /* 0, 1 or 2 */
	unsigned int length;
	unsigned int serial; /* number of the cycle, from 0; for fresh names */
	int fd[2];
	char path[2][64];
};

/*
 * An operation. setup makes what all cycles share, in the empty current directory. arm fills the
 * cycle without any system call; teardown closes what setup opened. `make`, where two calls before
 * the measured ones are not enough to prepare them, makes system calls of its own before each
 * cycle; they are part of it, and `cycle` then names all. All return 0 or -errno.
 */
struct op {
	const char *suite;
	const char *name;
	bool control; /* no security module may change it */
	const char *cycle;
	const struct variant *variants;
	size_t n_variants;
	int (*setup)(struct bench *bench);
	int (*arm)(struct bench *bench);
	int (*make)(struct bench *bench);
	int (*teardown)(struct bench *bench);
};

/* Make call[0] alone, or call[0] and call[1], the cycle and the region. */
#define ONE_CALL(bench)	 ((bench)->calls = (bench)->length = 1)
#define TWO_CALLS(bench) ((bench)->calls = (bench)->length = 2)

/* close() of the descriptor that the call at this place of the cycle returns. */
#define CLOSE_OF(place) ((struct call){.nr = SYS_close, .fd_from = (place) + 1})

#define REGISTER_OP(op) \
	static const struct op *const op##_entry __attribute__((used, section("lsmeter_ops"))) = \
		&(op)

extern const struct op *const __start_lsmeter_ops[];
extern const struct op *const __stop_lsmeter_ops[];

#define for_each_op(entry) \
	for (const struct op *const *entry = __start_lsmeter_ops; entry < __stop_lsmeter_ops; \
	     entry++)

/* "open depth=4" of an operation and a variant, NUL-terminated and cut at size. */
void bench_id(char *text, size_t size, const struct op *op, const struct variant *variant);

/* Find the benchmark with this id; false if there is none. */
bool bench_find(const char *id, struct bench *bench);

/* Print all benchmarks, tab-separated, after a line that names format and version. */
void catalogue_print(void);

#endif
