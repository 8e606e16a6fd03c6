// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The suite `sandbox`: opening a file so many directories below the one that Landlock has a rule
 * for. Its check goes up by one directory after the other, in each layer, until a rule grants what
 * was asked for, or to the root.
 */
#include "ops/define.h"
#include "ops/tree.h"
#include "policy/landlock.h"

#define SUITE "sandbox"

ROWS();

static int sys_rename(const char *from, const char *to)
{
	return (int)sys4(AS_RENAME(from, to));
}

/*
 * Directories AA one in the other, and the file in the innermost one. They are put together from
 * within, so that every name looked up is near the top: each is as long for a check to go up.
 */
static int nested_setup(struct bench *bench)
{
	int error = sys_mkdir("AA", 0755);

	bench->fd[0] = error ? error : sys_open("AA", O_PATH | O_DIRECTORY, 0);
	if (bench->fd[0] < 0)
		return bench->fd[0];
	error = tree_touch("AA/HH");
	if (!error)
		error = sys_settle_times("AA/HH");
	for (long i = 1; i < bench->variant->value && !error; i++) {
		error = sys_mkdir("NN", 0755);
		if (!error)
			error = sys_rename("AA", "NN/AA");
		if (!error)
			error = sys_rename("NN", "AA");
	}
	/* Landlock's first version lets nothing go to another directory. */
	return error == -EXDEV ? -ENOSYS : error;
}

static int nested_teardown(struct bench *bench)
{
	int error = sys_close(bench->fd[0]);

	for (long i = 1; i < bench->variant->value && !error; i++) {
		error = sys_rename("AA/AA", "NN");
		if (!error)
			error = sys_rmdir("AA");
		if (!error)
			error = sys_rename("NN", "AA");
	}
	if (!error)
		error = (int)sys4(AS_UNLINK("AA/HH"));
	return error ? error : sys_rmdir("AA");
}

static int open_arm(struct bench *bench)
{
	bool denied = bench->op->withheld && landlock_withholds();

	bench->call[0] = (struct call){
		.nr = SYS_openat,
		.arg = {bench->fd[0], (long)"HH", O_RDONLY},
		.expect = denied ? EXPECT_VALUE : EXPECT_FD,
		.want = -EACCES,
	};
	bench->call[1] = CLOSE_OF(0);
	bench->calls = 1;
	bench->length = denied ? 1 : 2;
	return 0;
}

#define NESTED(count, many, text) \
	{.params = "nested=" #count, \
	 .origin = ORIGIN_OWN, \
	 .title = text ", nested directories: " #count, \
	 .value = count, \
	 .populous = many}
#define ALL_NESTED(text) \
	NESTED(1, false, text), NESTED(10, false, text), NESTED(100, false, text), \
		NESTED(1000, true, text), NESTED(10000, true, text)
#define IN_NESTED \
	.setup = nested_setup, .teardown = nested_teardown, \
	.needs = "right to move directories (Landlock has it from its version 2 on)"

VARIANTS(open, ALL_NESTED("open a file"));
DEFINE_OP(open, "openat", IN_NESTED);

#define denied_arm open_arm
VARIANTS(denied, ALL_NESTED("open a file that Landlock's rules deny"));
DEFINE_OP(denied, "openat-denied", .withheld = LANDLOCK_READ_FILE, IN_NESTED);
