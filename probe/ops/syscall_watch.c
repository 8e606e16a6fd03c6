// SPDX-License-Identifier: GPL-2.0-or-later
/* The suite `syscall`: being told of changes, BPF, and descriptors of other kinds. */
#include "ops/define.h"

#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>

#define SUITE "syscall"

static int inotify_setup(struct bench *bench)
{
	int error = make_sized("HH", 0);

	bench->fd[0] = error ? -1 : (int)sys4(SYS_inotify_init1, 0, 0, 0, 0);
	return error ? error : bench->fd[0] < 0 ? bench->fd[0] : 0;
}

/* Removed again. */
static int inotify_arm(struct bench *bench)
{
	snprintf(bench->path[0], sizeof(bench->path[0]), "HH");
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_inotify_add_watch,
				  .arg = {bench->fd[0], (long)bench->path[0], IN_MODIFY},
				  .expect = EXPECT_FD});
	push(bench, (struct call){.nr = SYS_inotify_rm_watch, .arg = {bench->fd[0]}});
	region_from(bench, 0);
	return 0;
}

static void inotify_run(struct bench *bench)
{
	call_all(&bench->call[0]);
	bench->call[1].arg[1] = bench->call[0].result;
	call_all(&bench->call[1]);
}
ALONE(inotify, "inotify: add a watch, and remove it");
DEFINE_OP(inotify, "inotify", .settles = true, .watches = true, .setup = inotify_setup,
	  .run = inotify_run, .needs = "inotify");

static int fanotify_setup(struct bench *bench)
{
	int error = make_sized("HH", 0);

	bench->fd[0] = error ? -1 : (int)sys4(SYS_fanotify_init, FAN_CLASS_NOTIF, O_RDONLY, 0, 0);
	return error ? error : bench->fd[0] < 0 ? bench->fd[0] : 0;
}

static int fanotify_arm(struct bench *bench)
{
	struct call mark = {
		.nr = SYS_fanotify_mark,
		.arg = {bench->fd[0], FAN_MARK_ADD, FAN_MODIFY, AT_FDCWD, (long)bench->path[0]}};

	snprintf(bench->path[0], sizeof(bench->path[0]), "HH");
	cycle_begin(bench);
	push(bench, mark);
	mark.arg[1] = FAN_MARK_REMOVE;
	push(bench, mark);
	region_from(bench, 0);
	return 0;
}
ALONE(fanotify, "fanotify: mark a file, and take the mark away");
DEFINE_OP(fanotify, "fanotify", .settles = true, .watches = true, .setup = fanotify_setup,
	  .run = run_in_row, .privileged = true, .needs = "fanotify");

static long bpf(int command, union bpf_attr *attr)
{
	return sys4(SYS_bpf, command, (long)attr, sizeof(*attr), 0);
}

static union bpf_attr look_up, load;
static uint32_t key;
static uint64_t found;

static int map_setup(struct bench *bench)
{
	union bpf_attr map = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1};
	long fd = bpf(BPF_MAP_CREATE, &map);

	bench->fd[0] = (int)fd;
	look_up = (union bpf_attr){
		.map_fd = (unsigned int)fd, .key = (uintptr_t)&key, .value = (uintptr_t)&found};
	return fd < 0 ? (int)fd : 0;
}

static int map_arm(struct bench *bench)
{
	return one(bench,
		   (struct call){.nr = SYS_bpf,
				 .arg = {BPF_MAP_LOOKUP_ELEM, (long)&look_up, sizeof(look_up)}});
}
ALONE(map, "BPF: look up an entry of an array");
DEFINE_OP(map, "bpf-lookup", .setup = map_setup, .privileged = true, .needs = "BPF");

static union bpf_attr new_map = {
	.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1};

static int newmap_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_bpf,
				  .arg = {BPF_MAP_CREATE, (long)&new_map, sizeof(new_map)},
				  .expect = EXPECT_FD});
	region_from(bench, 0);
	push(bench, CLOSE_OF(0));
	return 0;
}
ALONE(newmap, "BPF: make an array");
DEFINE_OP(newmap, "bpf-map", .settles = true, .setup = map_setup, .privileged = true,
	  .needs = "BPF");

/* A socket filter that returns 0. */
static int load_setup(struct bench *bench)
{
	static const struct bpf_insn program[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	long fd;

	load = (union bpf_attr){
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insn_cnt = ARRAY_SIZE(program),
		.insns = (uintptr_t)program,
		.license = (uintptr_t)"GPL",
	};
	(void)bench;
	fd = bpf(BPF_PROG_LOAD, &load);
	return fd < 0 ? (int)fd : sys_close((int)fd);
}

static int load_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_bpf,
				  .arg = {BPF_PROG_LOAD, (long)&load, sizeof(load)},
				  .expect = EXPECT_FD});
	region_from(bench, 0);
	push(bench, CLOSE_OF(0));
	return 0;
}
ALONE(load, "BPF: load a program of two instructions");
DEFINE_OP(load, "bpf-load", .settles = true, .setup = load_setup, .privileged = true,
	  .needs = "BPF");

static struct perf_event_attr event = {
	.type = PERF_TYPE_SOFTWARE,
	.size = sizeof(event),
	.config = PERF_COUNT_SW_DUMMY,
	.disabled = 1,
	.exclude_kernel = 1,
};

static int perf_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_perf_event_open,
				  .arg = {(long)&event, 0, -1, -1},
				  .expect = EXPECT_FD});
	region_from(bench, 0);
	push(bench, CLOSE_OF(0));
	return 0;
}

static int perf_setup(struct bench *bench)
{
	long fd = sys6(SYS_perf_event_open, (long)&event, 0, -1, -1, 0, 0);

	(void)bench;
	return fd < 0 ? (int)fd : sys_close((int)fd);
}

static void first_run(struct bench *bench)
{
	call_all(&bench->call[0]);
}
ALONE(perf, "perf: open a counter that counts nothing");
DEFINE_OP(perf, "perf-open", .settles = true, .setup = perf_setup, .run = first_run,
	  .privileged = true, .needs = "perf");

/* Descriptors of inodes without a name. */
static int memfd_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_memfd_create,
				  .arg = {(long)"lsmeter", 0},
				  .expect = EXPECT_FD});
	region_from(bench, 0);
	push(bench, CLOSE_OF(0));
	return 0;
}
ALONE(memfd, "memfd_create");
DEFINE_OP(memfd, "memfd", .settles = true);

static int userfault_setup(struct bench *bench)
{
	long fd = sys4(SYS_userfaultfd, 0, 0, 0, 0);

	(void)bench;
	return fd < 0 ? (int)fd : sys_close((int)fd);
}

static int userfault_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_userfaultfd, .arg = {0}, .expect = EXPECT_FD});
	region_from(bench, 0);
	push(bench, CLOSE_OF(0));
	return 0;
}
ALONE(userfault, "userfaultfd: an inode without a name that has a label");
DEFINE_OP(userfault, "userfaultfd", .settles = true, .setup = userfault_setup, .privileged = true,
	  .needs = "userfaultfd");

/* What only root may do, in namespaces of its own where it would change something. */
static int sysinfo_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_syslog,
					.arg = {10 /* size of the buffer */},
					.expect = EXPECT_FD});
}
ALONE(sysinfo, "syslog: how large the kernel's log is");
DEFINE_OP(sysinfo, "syslog", .privileged = true);

static struct timespec now;

static int settime_before(struct bench *bench)
{
	(void)bench;
	return (int)sys4(SYS_clock_gettime, CLOCK_REALTIME, (long)&now, 0, 0);
}

static int settime_arm(struct bench *bench)
{
	return one(bench,
		   (struct call){.nr = SYS_clock_settime, .arg = {CLOCK_REALTIME, (long)&now}});
}
ALONE(settime, "clock_settime to what it is");
DEFINE_OP(settime, "settime", .before = settime_before, .privileged = true, .guest_only = true,
	  .cycle = "clock_gettime+clock_settime");
