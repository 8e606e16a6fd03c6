/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Running a program of the guest to its end, at most until a deadline. Its output is read while it
 * runs; who waits sleeps until there is some, or the end.
 */
#ifndef LSMETER_WORKLOAD_PROGRAM_H
#define LSMETER_WORKLOAD_PROGRAM_H

#include "observe/monitor.h"
#include "protocol/limits.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* Guest time that a program of a setup or a server's start may take. */
#define PROGRAM_MS 120000

/* How much of all that a command says is kept. */
#define OUTPUT_BYTES 32768

/* How much of the first line of its output is kept. */
#define FIRST_BYTES 200

/* What program_failure() has at most. */
#define FAILURE_BYTES (SAID_BYTES + 300)

struct program {
	char *const *word;	   /* its path and its arguments, then NULL */
	unsigned int account;	   /* ACCOUNT_...; 0: that of the caller */
	unsigned long deadline_ms; /* guest time */
	bool in_tree;		   /* of its own, as command.h has it */
	int expected;		   /* the status that it must leave with */
	char *kept;		   /* NULL, or where OUTPUT_BYTES of its output are kept */
	bool alone;		   /* what it leaves in its process group is killed at its end */
	struct monitor *monitor;   /* that takes moments meanwhile; or NULL */

	/* How it ended. */
	bool ended; /* by itself, with `status` */
	int status;
	int error;	   /* 0: it left with the status that is expected */
	size_t said_bytes; /* all of its output */
	char first_line[FIRST_BYTES + 1];
	char last_line[SAID_BYTES + 1]; /* that is not blank; "" if there is none */

	/* For program.c. */
	int output[2];
	int child_ended;
	sigset_t mask;
	size_t first_size, last_size;
	bool past_first, line_ended;
};

/* Run it from beginning to end; true if it left with the status that is expected. */
bool program_run(struct program *program);

/*
 * The same in three parts, of which the second alone has the program's life: from the process that
 * becomes it to the moment when that is gone. program_finish() must follow program_prepare(), and
 * says whether all went well.
 */
void program_prepare(struct program *program);
void program_carry_out(struct program *program);
bool program_finish(struct program *program);

/* In one line what went wrong; it stays valid until the next call. */
const char *program_failure(const struct program *program);

/* The last line that it said, or, when it said nothing, program_failure(). */
const char *program_reason(const struct program *program);

#endif
