// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The end of a process that has files open: a byte wakes it, it exits, and its parent waits for
 * it. Making it is outside the measured region, and part of the whole cost.
 */
#include "ops/depths.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int go[2], ready[2];
static char byte;

static int setup(struct bench *bench)
{
	long error = sys4(AS_PIPE(go));

	(void)bench;
	if (!error)
		error = sys4(AS_PIPE(ready));
	return error ? (int)error : tree_touch("HH");
}

static _Noreturn void child(long files)
{
	for (long i = 0; i < files; i++) {
		if (sys_open("HH", O_RDONLY, 0) < 0)
			_exit(1);
	}
	sys_write(ready[1], &byte, 1);
	sys4(SYS_read, go[0], (long)&byte, 1, 0);
	_exit(0);
}

/* Make the process, and let it get to where it waits. */
static int before(struct bench *bench)
{
	long pid = sys4(AS_FORK()), n;

	if (!pid)
		child(bench->variant->value);
	if (pid < 0)
		return (int)pid;
	n = sys4(SYS_read, ready[0], (long)&byte, 1, 0);
	sys4(SYS_sched_yield, 0, 0, 0, 0);
	return n < 0 ? (int)n : 0;
}

static int arm(struct bench *bench)
{
	bench->call[0] = (struct call){.nr = SYS_write, .arg = {go[1], (long)&byte, 1}, .want = 1};
	bench->call[1] = (struct call){.nr = SYS_wait4, .arg = {-1}, .expect = EXPECT_ID};
	TWO_CALLS(bench);
	return 0;
}

static int teardown(struct bench *bench)
{
	(void)bench;
	for (int i = 0; i < 2; i++) {
		sys_close(go[i]);
		sys_close(ready[i]);
	}
	return 0;
}

static const struct variant variants[] = {
	{.params = "files=0",
	 .origin = ORIGIN_OWN,
	 .title = "end of a process with no file of its own",
	 .value = 0},
	{.params = "files=16",
	 .origin = ORIGIN_OWN,
	 .title = "end of a process with 16 open files",
	 .value = 16},
};

DEFINE_FILE_OP("exit", .calls = "write+exit_group+wait4", .cycle = "fork+open...+exit+wait4",
	       .setup = setup, .arm = arm, .before = before, .teardown = teardown);
