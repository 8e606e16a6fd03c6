// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The suite `sandbox`: making one. A ruleset and its rules are made by the process that measures;
 * what nobody can take back (the layer, the filter) is put on by a process of each cycle: a byte
 * wakes it, and it answers when it is restricted.
 */
#include "layout/own_memory.h"
#include "ops/define.h"
#include "ops/peer.h"
#include "policy/landlock.h"
#include "policy/seccomp.h"
#include "protocol/limits.h"

#include <linux/seccomp.h>
#include <sys/resource.h>

#define SUITE	   "sandbox"
#define MOST_RULES 1000

static const uint64_t handled = LANDLOCK_FIRST_RIGHTS;
static struct landlock_beneath rule[MOST_RULES] BULK;

static int make_ruleset(void)
{
	return (int)sys4(NR_LANDLOCK_CREATE_RULESET, (long)&handled, sizeof(handled), 0, 0);
}

static int create_setup(struct bench *bench)
{
	int ruleset = make_ruleset();

	(void)bench;
	return ruleset < 0 ? ruleset : sys_close(ruleset);
}

static int create_arm(struct bench *bench)
{
	one(bench, (struct call){.nr = NR_LANDLOCK_CREATE_RULESET,
				 .arg = {(long)&handled, sizeof(handled)},
				 .expect = EXPECT_FD});
	push(bench, CLOSE_OF(0));
	return 0;
}
ALONE(create, "landlock_create_ruleset");
DEFINE_OP(create, "landlock-create", .setup = create_setup, .needs = "Landlock",
	  .calls = "landlock_create_ruleset", .cycle = "landlock_create_ruleset+close");

/* A directory for each rule, and as many descriptors as that takes. */
static int rules_setup(struct bench *bench)
{
	static const struct rlimit room = {MOST_RULES + 64, MOST_RULES + 64};
	int error = create_setup(bench);
	char name[16];

	if (!error)
		error = (int)sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)&room, 0);
	for (long i = 0; i < bench->variant->value && !error; i++) {
		snprintf(name, sizeof(name), "r%04ld", i);
		error = sys_mkdir(name, 0755);
		if (error)
			break;
		rule[i] = (struct landlock_beneath){.allowed_access = handled};
		rule[i].parent_fd = sys_open(name, O_PATH | O_CLOEXEC, 0);
		error = rule[i].parent_fd < 0 ? rule[i].parent_fd : 0;
	}
	return error;
}

static int rules_teardown(struct bench *bench)
{
	char name[16];
	int error = 0;

	for (long i = 0; i < bench->variant->value && !error; i++) {
		snprintf(name, sizeof(name), "r%04ld", i);
		sys_close(rule[i].parent_fd);
		error = sys_rmdir(name);
	}
	return error;
}

static struct call add_call(int ruleset, long place)
{
	return (struct call){.nr = NR_LANDLOCK_ADD_RULE,
			     .arg = {ruleset, LANDLOCK_RULE_BENEATH, (long)&rule[place]}};
}

/* A ruleset with the first so many rules; its descriptor or -errno. */
static int make_rules(long count)
{
	int ruleset = make_ruleset();

	for (long i = 0; i < count && ruleset >= 0; i++) {
		struct call add = add_call(ruleset, i);
		long error = sys4(add.nr, add.arg[0], add.arg[1], add.arg[2], 0);

		if (error) {
			sys_close(ruleset);
			ruleset = (int)error;
		}
	}
	return ruleset;
}

/* All rules but the last. */
static int add_before(struct bench *bench)
{
	bench->fd[0] = make_rules(bench->variant->value - 1);
	bench->call[0].arg[0] = bench->call[1].arg[0] = bench->fd[0];
	return bench->fd[0] < 0 ? bench->fd[0] : 0;
}

static int add_arm(struct bench *bench)
{
	one(bench, add_call(bench->fd[0], bench->variant->value - 1));
	push(bench, (struct call){.nr = SYS_close, .arg = {bench->fd[0]}});
	return 0;
}

#define RULES(count, text) VARIANT("rules=" #count, text, count)
#define ALL_RULES(text) \
	RULES(1, text " 1"), RULES(10, text " 10"), RULES(100, text " 100"), \
		RULES(1000, text " 1000")

VARIANTS(add, ALL_RULES("landlock_add_rule: the last of so many rules:"));
DEFINE_OP(add, "landlock-add", .setup = rules_setup, .before = add_before,
	  .teardown = rules_teardown, .needs = "Landlock", .calls = "landlock_add_rule",
	  .cycle = "landlock_create_ruleset+landlock_add_rule...+close");

/* What a process does to itself, how it is told to, and what it answers: 0 or an errno. */
static struct call restriction;
static int go[2], done[2];
static char byte;

static _Noreturn void restrict_self(void)
{
	sys4(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
	byte = (char)-sys6(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0);
	sys_write(done[1], &byte, 1);
	sys4(SYS_read, go[0], (long)&byte, 1, 0);
	byte = (char)-sys4(restriction.nr, restriction.arg[0], restriction.arg[1],
			   restriction.arg[2], 0);
	sys_write(done[1], &byte, 1);
	sys4(SYS_read, go[0], (long)&byte, 1, 0);
	for (;;)
		sys4(SYS_exit_group, 0, 0, 0, 0);
}

/* Make the process, and let it get to where it waits. */
static int restrict_before(struct bench *bench)
{
	long pid = sys4(AS_FORK()), n;

	if (!pid)
		restrict_self();
	if (pid < 0)
		return (int)pid;
	n = sys4(SYS_read, done[0], (long)&byte, 1, 0);
	sys4(SYS_sched_yield, 0, 0, 0, 0);
	bench->status = byte;
	return n < 0 ? (int)n : -byte;
}

static int restrict_arm(struct bench *bench)
{
	struct call wake = {.nr = SYS_write, .arg = {go[1], (long)&byte, 1}, .want = 1};

	cycle_begin(bench);
	push(bench, wake);
	push(bench, (struct call){.nr = SYS_read, .arg = {done[0], (long)&byte, 1}, .want = 1});
	region_from(bench, 0);
	push(bench, wake);
	push(bench, (struct call){.nr = SYS_wait4, .arg = {-1}, .expect = EXPECT_ID});
	return 0;
}

static void restrict_run(struct bench *bench)
{
	call_all(&bench->call[0]);
	call_all(&bench->call[1]);
	bench->status = byte;
}

static int open_pipes(void)
{
	long error = sys4(AS_PIPE(go));

	if (!error)
		error = sys4(AS_PIPE(done));
	return error ? (int)error : peer_batch();
}

/* Have a process try it; 0 or -errno. */
static int try_restriction(struct bench *bench)
{
	int error = open_pipes();

	restrict_arm(bench);
	if (!error)
		error = restrict_before(bench);
	if (error)
		return error;
	restrict_run(bench);
	error = -bench->status;
	bench->status = 0;
	sys_write(go[1], &byte, 1);
	sys4(SYS_wait4, -1, 0, 0, 0);
	return error;
}

static int close_pipes(void)
{
	for (int i = 0; i < 2; i++) {
		sys_close(go[i]);
		sys_close(done[i]);
	}
	return 0;
}

static int layer_setup(struct bench *bench)
{
	int error = rules_setup(bench);

	if (!error)
		error = bench->fd[0] = make_rules(bench->variant->value);
	if (error < 0)
		return error;
	restriction = (struct call){.nr = NR_LANDLOCK_RESTRICT_SELF, .arg = {bench->fd[0]}};
	error = try_restriction(bench);
	return error == -E2BIG ? -EOPNOTSUPP : error; /* it has all layers that there are */
}

static int layer_teardown(struct bench *bench)
{
	sys_close(bench->fd[0]);
	close_pipes();
	return rules_teardown(bench);
}

#define BY_A_PROCESS \
	.settles = true, .processes = true, .before = restrict_before, .run = restrict_run

#define layer_arm restrict_arm
VARIANTS(layer, ALL_RULES("landlock_restrict_self by a process that is woken; rules:"));
DEFINE_OP(layer, "landlock-restrict", BY_A_PROCESS, .setup = layer_setup,
	  .teardown = layer_teardown, .needs = "Landlock with a layer left",
	  .calls = "write+landlock_restrict_self+read",
	  .cycle = "fork+landlock_restrict_self+exit+wait4");

static int pipes_teardown(struct bench *bench)
{
	(void)bench;
	return close_pipes();
}

/* What the processes take that are measured with a restriction. */
static int none_setup(struct bench *bench)
{
	restriction = (struct call){.nr = SYS_sigaltstack};
	return try_restriction(bench);
}

#define none_arm restrict_arm
ALONE(none, "a process is woken, and answers without a restriction");
DEFINE_OP(none, "restrict-nothing", BY_A_PROCESS, .setup = none_setup, .teardown = pipes_teardown,
	  .calls = "write+sigaltstack+read", .cycle = "fork+sigaltstack+exit+wait4");

static int filter_setup(struct bench *bench)
{
	static struct sock_filter filter[MAX_SECCOMP_LENGTH] BULK;
	static struct sock_fprog program = {.filter = filter};

	program.len = (unsigned short)bench->variant->value;
	seccomp_fill(filter, program.len);
	restriction = (struct call){.nr = SYS_seccomp,
				    .arg = {SECCOMP_SET_MODE_FILTER, 0, (long)&program}};
	return try_restriction(bench);
}

#define FILTER(count) \
	VARIANT("length=" #count, \
		"seccomp: a process that is woken loads a filter of " #count " instructions", \
		count)

#define filter_arm restrict_arm
VARIANTS(filter, FILTER(10), FILTER(100), FILTER(1000));
DEFINE_OP(filter, "seccomp-load", BY_A_PROCESS, .setup = filter_setup, .teardown = pipes_teardown,
	  .needs = "seccomp", .calls = "write+seccomp+read", .cycle = "fork+seccomp+exit+wait4");
