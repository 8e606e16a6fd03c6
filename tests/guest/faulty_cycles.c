// SPDX-License-Identifier: GPL-2.0-or-later
/* Cycles that go wrong once there are many of them: an operation for the probe, in a test. */
#include "ops/depths.h"

#include <stdio.h>

enum fault { NOT_UNDONE, FILES_LEFT, ENDLESS, LATER };

/* Readings and the rounds' warm-up are over by then. */
#define GOES_WRONG_AT 400

static struct timespec second = {.tv_sec = 1};

static int setup(struct bench *bench)
{
	(void)bench;
	return tree_touch("HH");
}

static int arm(struct bench *bench)
{
	bool wrong = bench->serial >= GOES_WRONG_AT;
	unsigned int number = wrong ? GOES_WRONG_AT : bench->serial;

	switch ((enum fault)bench->variant->value) {
	case NOT_UNDONE:
		snprintf(bench->path[0], sizeof(bench->path[0]), "d%06u", number);
		bench->call[0] = (struct call){CALLS(AS_MKDIR(bench->path[0], 0755))};
		break;
	case FILES_LEFT:
		snprintf(bench->path[0], sizeof(bench->path[0]), "HH");
		bench->call[0] = (struct call){
			CALLS(AS_OPEN(bench->path[0], O_RDONLY, 0)),
			.expect = EXPECT_FD,
		};
		break;
	case ENDLESS:
		bench->call[0] = (struct call){.nr = SYS_getppid, .expect = EXPECT_ID};
		if (wrong)
			bench->call[0] =
				(struct call){.nr = SYS_nanosleep, .arg = {(long)&second, 0}};
		break;
	case LATER:
		bench->call[0] = (struct call){
			.nr = wrong ? SYS_exit : SYS_getppid, .arg = {3}, .expect = EXPECT_ID};
		break;
	}
	ONE_CALL(bench);
	return 0;
}

#define FAULT(word, kind) {.params = word, .origin = ORIGIN_OWN, .title = word, .value = kind}

static const struct variant variants[] = {
	FAULT("fault=not-undone", NOT_UNDONE),
	FAULT("fault=files-left", FILES_LEFT),
	FAULT("fault=endless", ENDLESS),
	FAULT("fault=dies", LATER),
};

static const struct op op = {
	.suite = "file",
	.name = "faulty",
	.variants = variants,
	.n_variants = ARRAY_SIZE(variants),
	.setup = setup,
	.arm = arm,
};
REGISTER_OP(op);
