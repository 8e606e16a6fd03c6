// SPDX-License-Identifier: GPL-2.0-or-later
/* The suite `process`: who a process is, what it may do, and what it does to another process. */
#include "ops/define.h"
#include "ops/peer.h"

#include <linux/capability.h>
#include <linux/ioprio.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>

#define SUITE "process"

static long own_uid(void)
{
	return sys4(SYS_geteuid, 0, 0, 0, 0);
}

static int setuid_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_setuid, .arg = {own_uid()}});
}
ALONE(setuid, "setuid to the user that it is");
DEFINE_OP(setuid, "setuid");

static int setgid_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_setgid, .arg = {sys4(SYS_getegid, 0, 0, 0, 0)}});
}
ALONE(setgid, "setgid to the group that it is");
DEFINE_OP(setgid, "setgid");

static int setgroups_arm(struct bench *bench)
{
	static const unsigned int groups[2] = {4, 5};

	return one(bench, (struct call){.nr = SYS_setgroups, .arg = {2, (long)groups}});
}
ALONE(setgroups, "setgroups of two groups");
DEFINE_OP(setgroups, "setgroups", .privileged = true);

static struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
static struct __user_cap_data_struct rights[2];

static int capget_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_capget, .arg = {(long)&header, (long)rights}});
}
ALONE(capget, "capget");
DEFINE_OP(capget, "capget");

static int capset_setup(struct bench *bench)
{
	(void)bench;
	return (int)sys4(SYS_capget, (long)&header, (long)rights, 0, 0);
}

static int capset_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_capset, .arg = {(long)&header, (long)rights}});
}
ALONE(capset, "capset to the capabilities that it has");
DEFINE_OP(capset, "capset", .setup = capset_setup);

static int prctl_arm(struct bench *bench)
{
	return one(bench,
		   (struct call){.nr = SYS_prctl, .arg = {PR_SET_NAME, (long)"lsmeter", 0, 0}});
}
ALONE(prctl, "prctl: set the name of a process");
DEFINE_OP(prctl, "prctl");

static int nice_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_setpriority, .arg = {PRIO_PROCESS, 0, 0}});
}
ALONE(nice, "setpriority to what it is");
DEFINE_OP(nice, "setpriority");

static struct rlimit limit;

static int limit_setup(struct bench *bench)
{
	(void)bench;
	return (int)sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit);
}

static int limit_arm(struct bench *bench)
{
	return one(bench,
		   (struct call){.nr = SYS_prlimit64, .arg = {0, RLIMIT_NOFILE, (long)&limit, 0}});
}
ALONE(limit, "prlimit: set a limit to what it is");
DEFINE_OP(limit, "prlimit", .setup = limit_setup);

/* What is done to another process, which sleeps. */
static int peer_setup(struct bench *bench)
{
	/* Who became the ordinary user could not be traced by it otherwise. */
	long error = sys4(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0);

	(void)bench;
	return error ? (int)error : peer_start(peer_sleep, 0);
}

static int peer_teardown(struct bench *bench)
{
	(void)bench;
	peer_stop_all();
	return 0;
}

#define OF_PEER .setup = peer_setup, .teardown = peer_teardown

static int kill_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_kill, .arg = {peer[0], 0}});
}
ALONE(kill, "kill(0): may a process be sent signals");
DEFINE_OP(kill, "kill", OF_PEER);

static int getpgid_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_getpgid, .arg = {peer[0]}, .expect = EXPECT_ID});
}
ALONE(getpgid, "getpgid of another process");
DEFINE_OP(getpgid, "getpgid", OF_PEER);

static int getsid_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_getsid, .arg = {peer[0]}, .expect = EXPECT_ID});
}
ALONE(getsid, "getsid of another process");
DEFINE_OP(getsid, "getsid", OF_PEER);

static int setpgid_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_setpgid, .arg = {peer[0], 0}});
}
ALONE(setpgid, "setpgid of a child to its own");
DEFINE_OP(setpgid, "setpgid", OF_PEER);

static int getsched_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_sched_getscheduler, .arg = {peer[0]}});
}
ALONE(getsched, "sched_getscheduler of another process");
DEFINE_OP(getsched, "sched_getscheduler", OF_PEER);

static int setsched_arm(struct bench *bench)
{
	static const int priority;

	return one(bench, (struct call){.nr = SYS_sched_setscheduler,
					.arg = {peer[0], 0, (long)&priority}});
}
ALONE(setsched, "sched_setscheduler of another process to what it has");
DEFINE_OP(setsched, "sched_setscheduler", OF_PEER);

static int getio_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_ioprio_get,
					.arg = {IOPRIO_WHO_PROCESS, peer[0]},
					.expect = EXPECT_ID});
}
ALONE(getio, "ioprio_get of another process");
DEFINE_OP(getio, "ioprio_get", OF_PEER);

static int setio_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_ioprio_set,
					.arg = {IOPRIO_WHO_PROCESS, peer[0],
						IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 4)}});
}
ALONE(setio, "ioprio_set of another process");
DEFINE_OP(setio, "ioprio_set", OF_PEER);

static int limit_of_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_prlimit64,
					.arg = {peer[0], RLIMIT_NOFILE, 0, (long)&limit}});
}
ALONE(limit_of, "prlimit: a limit of another process");
DEFINE_OP(limit_of, "prlimit-of", OF_PEER);

/* A child that asks to be traced, and ends. */
static int traceme_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){CALLS(AS_FORK()), .expect = EXPECT_ID});
	push(bench, (struct call){.nr = SYS_wait4,
				  .arg = {-1, (long)&bench->status},
				  .expect = EXPECT_ID});
	region_from(bench, 0);
	return 0;
}

static void traceme_run(struct bench *bench)
{
	call_all(&bench->call[0]);
	if (!bench->call[0].result)
		sys4(SYS_exit_group, sys4(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0) ? 1 : 0, 0, 0, 0);
	bench->call[1].arg[0] = bench->call[0].result;
	call_all(&bench->call[1]);
}

static int traceme_setup(struct bench *bench)
{
	(void)bench;
	return peer_batch();
}
ALONE(traceme, "fork, the child asks to be traced, exit, wait");
DEFINE_OP(traceme, "ptrace-traceme", .processes = true, .settles = true, .setup = traceme_setup,
	  .run = traceme_run, .calls = "fork+ptrace+exit_group+wait4",
	  .cycle = "fork+ptrace+exit_group+wait4");

/* Attach, wait until it has stopped, and let it go. */
static int attach_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_ptrace, .arg = {PTRACE_ATTACH, peer[0]}});
	push(bench, (struct call){.nr = SYS_wait4, .arg = {peer[0]}, .expect = EXPECT_ID});
	push(bench, (struct call){.nr = SYS_ptrace, .arg = {PTRACE_DETACH, peer[0]}});
	region_from(bench, 0);
	return 0;
}

static int attach_setup(struct bench *bench)
{
	int error = peer_batch();

	return error ? error : peer_setup(bench);
}
ALONE(attach, "ptrace: attach to a process, wait until it stops, detach");
DEFINE_OP(attach, "ptrace-attach", .settles = true, .processes = true, .setup = attach_setup,
	  .teardown = peer_teardown, .run = run_in_row);

static char word[sizeof(long)];
static struct iovec here = {.iov_base = word, .iov_len = sizeof(word)};

static int traced_setup(struct bench *bench)
{
	long error = peer_setup(bench);

	if (!error)
		error = sys4(SYS_ptrace, PTRACE_ATTACH, peer[0], 0, 0);
	if (!error)
		error = sys4(SYS_wait4, peer[0], 0, 0, 0);
	return error < 0 ? (int)error : 0;
}

static int peek_arm(struct bench *bench)
{
	return one(bench,
		   (struct call){.nr = SYS_ptrace,
				 .arg = {PTRACE_PEEKDATA, peer[0], (long)&header, (long)word}});
}
ALONE(peek, "ptrace: read a word of a process that is traced");
DEFINE_OP(peek, "ptrace-peek", .setup = traced_setup, .teardown = peer_teardown);

static int vmread_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_process_vm_readv,
					.arg = {peer[0], (long)&here, 1, (long)&here, 1},
					.want = sizeof(word)});
}
ALONE(vmread, "process_vm_readv of a word of another process");
DEFINE_OP(vmread, "process_vm_readv", OF_PEER, .run = run_in_row);

/* What the module says of this process; not all have something to say. */
static int label_setup(struct bench *bench)
{
	char text[256];
	long n;

	bench->fd[0] = sys_open("/proc/self/attr/current", O_RDONLY, 0);
	if (bench->fd[0] < 0)
		return bench->fd[0] == -ENOENT ? -ENOSYS : bench->fd[0];
	n = sys4(SYS_pread64, bench->fd[0], (long)text, sizeof(text), 0);
	return n < 0 ? -ENOSYS : 0;
}

static char label[256];

static int label_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_pread64,
					.arg = {bench->fd[0], (long)label, sizeof(label), 0},
					.expect = EXPECT_FD});
}
ALONE(label, "read the label of a process from /proc/self/attr/current");
DEFINE_OP(label, "label", .setup = label_setup, .needs = "label of a process");
