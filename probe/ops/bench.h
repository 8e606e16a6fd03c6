/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an operation is made of, and how a file in ops/ registers one.
 */
#ifndef LSMETER_OPS_BENCH_H
#define LSMETER_OPS_BENCH_H

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
	EXPECT_ID,    /* a number of a process, user or IPC object, or a mask: 0 or more */
};

/*
 * One system call. `result` is filled in when it is made. The fifth and sixth argument are for
 * calls that a run() makes: the others load four.
 */
struct call {
	long nr;
	long arg[6];
	long result;
	long want;
	enum expect expect;
	unsigned int fd_from; /* 1 + the place in the cycle of the call that made arg[0]; 0: none */
};

/* Number and arguments of a call, from what sys4() takes: CALLS(AS_OPEN(path, O_RDONLY, 0)). */
#define CALLS(...)		   CALLS_(__VA_ARGS__)
#define CALLS_(number, a, b, c, d) .nr = (number), .arg = {(a), (b), (c), (d)}

/* One benchmark of an operation. path and value mean what the operation's file says. */
struct variant {
	const char *params; /* "depth=4"; several are separated by commas; "" for none */
	const char *origin;
	const char *title;
	const char *path;
	long value;
	bool in_peer;  /* the other end is in the peer network namespace (net/peer.h) */
	bool populous; /* its tree takes seconds to make, but on a tmpfs */
};

/* A benchmark that is another one under the name of a published table. */
struct row {
	const char *suite;
	const char *name;
	const char *params;
	const char *title;
	const char *same; /* "open depth=4", in the suite `of` */
	const char *of;
};

#define MAX_CYCLE 8

/*
 * The running state of one benchmark, private to its worker. The cycle is one operation with all
 * that prepares and undoes it: call[0] up to call[length - 1], of which `calls` from `first` on are
 * the measured region of a reading. Without a run() of the operation they are two at most.
 */
struct bench {
	const struct op *op;
	const struct variant *variant;
	struct call call[MAX_CYCLE];
	unsigned int first;
	unsigned int calls;
	unsigned int length;
	unsigned int copy;   /* which one of those that run at once this is, from 0 */
	unsigned int serial; /* number of the cycle, from 0; for fresh names */
	unsigned int
		batch; /* times that a reading makes its call, from cycle `since` on; 0: once */
	unsigned int since;
	unsigned int
		most; /* times that it may, what it uses up being prepared; 0: arm() has no limit */
	int status;   /* of what has no call here, such as a child (by wait4): must stay 0 */
	int fd[2];
	char path[2][96];
};

/*
 * An operation. setup makes what all cycles share, in the empty current directory; teardown undoes
 * it. arm fills the cycle without any system call. A cycle is then
 *
 *	before()	system calls of its own, where two calls do not prepare enough
 *	call[0]...	up to `first`
 *	the region	`calls` calls from `first` on, or run(), which makes these calls itself
 *	call[...]	up to `length`
 *
 * run() is for what calls in a row cannot express: six arguments, a result that goes where fd_from
 * does not lead, processes that take turns. It makes each call of the region once with call_all()
 * (sampler/region.h), so that its result is checked as any other, and what must not fail elsewhere
 * leaves something other than 0 in bench->status. It makes no call of the C library, and a process
 * that it starts ends inside it. What it executes in user space is part of every reading.
 *
 * What a kernel lacks skips the benchmark: setup() then answers with one of the errors that say so
 * (ENOSYS, EAFNOSUPPORT and the like), and `needs` is what that is called. `privileged` is what the
 * ordinary user may not do. `timed_only` is why an emulated processor cannot measure it.
 *
 * `calls` and `cycle` name the system calls of region and cycle where the table does not have all.
 * `components` is the length of a path that the table does not show. Functions return 0 or -errno.
 */
struct op {
	const char *suite;
	const char *name;
	bool control;	 /* no security module may change it */
	bool privileged; /* for root only */
	bool processes;	 /* others take part: the hooks that they run count as well */
	bool settles; /* what earlier readings left to timers and RCU would be seen in the next */
	bool watches; /* once it ran, every access looks for watches: perturb_watches() */
	const char
		*timed_only; /* why a count of instructions says nothing; NULL: it says something */
	bool network;	     /* the loopback device has to be up */
	bool guest_only;     /* it would change the machine that it runs on */
	const char *needs;
	const char *calls;
	const char *cycle;
	unsigned int components;
	uint64_t withheld; /* rights that no rule of Landlock's grants where this one is measured */
	const struct variant *variants;
	size_t n_variants;
	int (*setup)(struct bench *bench);
	int (*arm)(struct bench *bench);
	int (*before)(struct bench *bench);
	void (*run)(struct bench *bench);
	int (*teardown)(struct bench *bench);
};

/* Make call[0] alone, or call[0] and call[1], the cycle and the region. */
#define ONE_CALL(bench)	 ((bench)->calls = (bench)->length = 1)
#define TWO_CALLS(bench) ((bench)->calls = (bench)->length = 2)

/* close() of the descriptor that the call at this place of the cycle returns. */
#define CLOSE_OF(place) ((struct call){.nr = SYS_close, .fd_from = (place) + 1})

/* A file may register several, of different names. */
#define REGISTER_OP(name) \
	static const struct op *const name##_entry __attribute__((used, section("lsmeter_ops"))) = \
		&(name)

/* The one operation of a file of the suite `file`; what follows are further members. */
#define DEFINE_FILE_OP(label, ...) \
	static const struct op op = {.suite = "file", \
				     .name = label, \
				     .variants = variants, \
				     .n_variants = ARRAY_SIZE(variants), \
				     __VA_ARGS__}; \
	REGISTER_OP(op)

/* A row of the suite SUITE: `same` in the suite `of`. */
#define ROW(label, parameters, text, of, same) {SUITE, label, parameters, text, same, of}

/* The rows of the suite SUITE, after its two controls; the last one's suite is NULL. */
#define ROWS(...) \
	static const struct row rows[] = { \
		ROW("empty", "", "nothing: what the reading itself costs", "file", "empty"), \
		ROW("getppid", "", "getppid, which asks no security module", "file", "getppid"), \
		##__VA_ARGS__, \
		{0}, \
	}; \
	static const struct row *const rows_entry __attribute__((used, section("lsmeter_rows"))) = \
		rows

extern const struct row *const __start_lsmeter_rows[];
extern const struct row *const __stop_lsmeter_rows[];

extern const struct op *const __start_lsmeter_ops[];
extern const struct op *const __stop_lsmeter_ops[];

#define for_each_op(entry) \
	for (const struct op *const *entry = __start_lsmeter_ops; entry < __stop_lsmeter_ops; \
	     entry++)

/* "open depth=4" of an operation and a variant, NUL-terminated and cut at size. */
void bench_id(char *text, size_t size, const struct op *op, const struct variant *variant);

/* Find the benchmark of a suite with this id; false if there is none. */
bool bench_find(const char *suite, const char *id, struct bench *bench);

/* Whether this is a guest, whose only purpose is to be measured; set by its init. */
extern bool in_guest;

/* Print all benchmarks, tab-separated, after a line that names format and version. */
void catalogue_print(void);

#endif
