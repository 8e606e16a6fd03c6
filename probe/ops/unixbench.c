// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The suite `unixbench`: what UnixBench's programs repeat, one turn of the loop each, over
 * operations of the other suites; and two loops that no module may change.
 */
#include "ops/define.h"

#define SUITE					  "unixbench"
#define ROW(label, parameters, text, suite, same) {SUITE, label, parameters, text, same, suite}

static const struct row rows[] = {
	ROW("empty", "", "nothing: what the reading itself costs", "file", "empty"),
	ROW("getppid", "", "getppid, which asks no security module", "file", "getppid"),
	ROW("context1", "", "UnixBench pipe-based context switching", "ipc", "turn by=pipe"),
	ROW("spawn", "", "UnixBench process creation: fork, exit, wait", "process", "fork"),
	ROW("execl", "", "UnixBench execl throughput: a program that executes another", "process",
	    "exec program=again"),
	ROW("syscall", "", "UnixBench system call overhead: the whole mix", "syscall", "mix"),
	ROW("shell1", "", "UnixBench shell script: sh -c, once", "process", "exec program=shell"),
	{0},
};
REGISTER_ROWS(rows);

/* In the manner of Dhrystone: whole numbers, records, strings, branches. No system call. */
struct record {
	struct record *next;
	int kind, number;
	char text[31];
};

static struct record records[2];

static __attribute__((noinline)) int compare(const char *one, const char *other)
{
	int i = 0;

	while (one[i] && one[i] == other[i])
		i++;
	return one[i] - other[i];
}

static __attribute__((noinline)) void assign(struct record *from)
{
	struct record *to = from->next;

	*to = *from;
	to->next = from;
	to->number = from->number + 2;
	to->kind = compare(to->text, "DHRYSTONE PROGRAM, 1'ST STRING") ? 1 : 2;
}

static void integer_run(struct bench *bench)
{
	volatile int sum = 0;

	records[0] = (struct record){.next = &records[1], .text = "DHRYSTONE PROGRAM, SOME STRING"};
	for (int i = 1; i <= 100; i++) {
		records[0].number = i;
		assign(&records[0]);
		sum += records[1].number * records[1].kind % i;
	}
	bench->status |= records[1].number != 102;
}

/* In the manner of Whetstone: numbers with a point, in a row and in a field. */
static void real_run(struct bench *bench)
{
	volatile double field[4] = {1.0, -1.0, -1.0, -1.0};
	const double factor = 0.49999975;

	for (int i = 0; i < 100; i++) {
		field[0] = (field[0] + field[1] + field[2] - field[3]) * factor;
		field[1] = (field[0] + field[1] - field[2] + field[3]) * factor;
		field[2] = (field[0] - field[1] + field[2] + field[3]) * factor;
		field[3] = (-field[0] + field[1] + field[2] + field[3]) / 2.0;
	}
	bench->status |= !(field[3] > -10 && field[3] < 10);
}

static int loop_arm(struct bench *bench)
{
	cycle_begin(bench);
	return 0;
}

#define integer_arm loop_arm
#define real_arm    loop_arm
ALONE(integer, "100 turns of a loop like Dhrystone's, without any system call");
DEFINE_OP(integer, "dhry", .run = integer_run, .control = true);
ALONE(real, "100 turns of a loop like Whetstone's, without any system call");
DEFINE_OP(real, "whet", .run = real_run, .control = true);
