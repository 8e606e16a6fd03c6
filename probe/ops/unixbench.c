// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The suite `unixbench`: what UnixBench's programs repeat, one turn of the loop each, over
 * operations of the other suites; and two loops that no module may change.
 */
#include "layout/own_memory.h"
#include "ops/define.h"

#define SUITE "unixbench"
ROWS(ROW("context1", "", "UnixBench pipe-based context switching", "ipc", "turn by=pipe"),
     ROW("spawn", "", "UnixBench process creation: fork, exit, wait", "process", "fork"),
     ROW("execl", "", "UnixBench execl throughput: a program that executes another", "process",
	 "exec program=again"),
     ROW("syscall", "", "UnixBench system call overhead: the whole mix", "syscall", "mix"));

/*
 * UnixBench's shell script, and eight of them at a time. Their text to be sorted is made here.
 */
#define LINES 400

static const char script[] = "sort >sort.$$ <sort.src\n"
			     "od sort.$$ | sort -n -k 1 > od.$$\n"
			     "grep the sort.$$ | tee grep.$$ | wc > wc.$$\n"
			     "test -s wc.$$ && rm sort.$$ grep.$$ od.$$ wc.$$\n";
static const char *arguments[] = {"sh", "tst.sh", NULL};
static const char *environment[] = {"PATH=/usr/bin:/bin", NULL};

static int write_text(const char *name, const char *text, long lines)
{
	int fd = sys_open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);
	long n = fd;

	for (long i = 0; n >= 0 && i < lines; i++)
		n = sys_write(fd, text, strlen(text));
	if (fd >= 0)
		sys_close(fd);
	return n < 0 ? (int)n : 0;
}

static int make_text(void)
{
	static const char *const word[] = {"the", "quick", "module", "asks", "another", "hook"};
	static char text[LINES * 40] BULK;
	size_t at = 0;

	for (unsigned int i = 0; i < LINES; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s %s %05u %s\n",
				       word[i * 7 % 6], word[i * 5 % 6], i * 7919 % 100000,
				       word[i % 6]);
	return write_text("sort.src", text, 1);
}

static int scripts_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){CALLS(AS_VFORK()), .expect = EXPECT_ID});
	push(bench, (struct call){.nr = SYS_wait4,
				  .arg = {-1, (long)&bench->status},
				  .expect = EXPECT_ID});
	region_from(bench, 0);
	return 0;
}

/* The last one started and the first one waited for are the calls of the table. */
static void scripts_run(struct bench *bench)
{
	long scripts = bench->variant->value, left = scripts;
	int status;

	for (long i = 0; i < scripts; i++) {
		call_all(&bench->call[0]);
		if (bench->call[0].result < 0)
			left--;
		if (bench->call[0].result)
			continue;
		sys4(SYS_execve, (long)"/bin/sh", (long)arguments, (long)environment, 0);
		sys4(SYS_exit_group, 126, 0, 0, 0);
	}
	call_all(&bench->call[1]);
	for (long i = 1; i < left; i++) {
		sys4(SYS_wait4, -1, (long)&status, 0, 0);
		bench->status |= status;
	}
}

static int scripts_setup(struct bench *bench)
{
	int error = (int)sys4(AS_ACCESS("/bin/sh", 1)), status;

	if (!error)
		error = write_text("tst.sh", script, 1);
	if (!error)
		error = make_text();
	if (error)
		return error == -ENOENT ? -ENOSYS : error;
	scripts_arm(bench);
	scripts_run(bench);
	status = bench->status;
	bench->status = 0;
	if (status == 126 << 8)
		return -EACCES;
	return status ? -ENOSYS : 0;
}

#define SCRIPTS(label, text, number) \
	VARIANTS(label, VARIANT("", text, number)); \
	DEFINE_OP(label, #label, .settles = true, .processes = true, .setup = scripts_setup, \
		  .run = scripts_run, .calls = "vfork+execve+wait4", \
		  .cycle = "vfork+execve+wait4", .components = 1, \
		  .needs = "/bin/sh with sort, od, grep, tee and wc", \
		  .timed_only = "its processes run beside each other, which one emulated " \
				"processor cannot: timed only")
#define shell1_arm scripts_arm
#define shell8_arm scripts_arm
SCRIPTS(shell1, "UnixBench shell script, once", 1);
SCRIPTS(shell8, "UnixBench shell script, eight at a time", 8);

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
