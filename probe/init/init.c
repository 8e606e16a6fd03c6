// SPDX-License-Identifier: GPL-2.0-or-later
#include "init/init.h"

#include "arch/mark.h"
#include "arch/sys.h"
#include "bpf/empty.h"
#include "bpf/syscall.h"
#include "init/disk.h"
#include "init/facts.h"
#include "init/root.h"
#include "init/state.h"
#include "init/steps.h"
#include "layout/own_memory.h"
#include "net/labels_check.h"
#include "net/network.h"
#include "ops/bench.h"
#include "policy/become.h"
#include "policy/delay.h"
#include "policy/enforcement.h"
#include "policy/identity.h"
#include "policy/landlock.h"
#include "protocol/channel.h"
#include "protocol/request.h"
#include "sampler/timing.h"
#include "sampler/worker.h"
#include "workload/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WORK "/data"

struct mount_point {
	const char *type;
	const char *where;
};

static const struct mount_point mount_points[] = {
	{"devtmpfs", "/dev"},
	{"proc", "/proc"},
	{"sysfs", "/sys"},
	{"securityfs", "/sys/kernel/security"},
};

/*
 * Periodic work of the kernel, every second or so: it falls into one measurement and not into the
 * next. No system call takes another path without it.
 */
static void stop_housekeeping(void)
{
	static const struct {
		const char *file, *value;
	} settings[] = {
		{"/proc/sys/vm/stat_interval", "86400"},
		{"/proc/sys/vm/compaction_proactiveness", "0"},
		{"/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs", "86400000"},
		/* Finding a process takes a step more where there are numbers above 4,095. */
		{"/proc/sys/kernel/ns_last_pid", "8191"},
	};

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		int fd = open(settings[i].file, O_WRONLY | O_CLOEXEC);

		if (fd < 0)
			continue; /* a kernel without it */
		if (write(fd, settings[i].value, strlen(settings[i].value)) < 0)
			fprintf(stderr, "lsmeter-probe: cannot write %s: %s\n", settings[i].file,
				strerror(errno));
		close(fd);
	}
}

static _Noreturn void power_off(void)
{
	/* A machine without ACPI has no off switch; QEMU runs with -no-reboot. */
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

static _Noreturn void abandon(const char *text)
{
	channel_error("%s", text);
	channel_drain();
	power_off();
}

static void mount_all(void)
{
	for (size_t i = 0; i < sizeof(mount_points) / sizeof(mount_points[0]); i++) {
		mkdir(mount_points[i].where, 0755);
		/* A kernel without security framework has no securityfs. */
		if (mount(mount_points[i].type, mount_points[i].where, mount_points[i].type, 0,
			  NULL) &&
		    errno != EBUSY)
			fprintf(stderr, "lsmeter-probe: cannot mount %s: %s\n",
				mount_points[i].where, strerror(errno));
	}
}

/* `module` is a path, then a space and parameters if there are any. */
static bool load_module(const char *module)
{
	char path[256];
	const char *parameters = strchr(module, ' ');
	int fd, error;

	snprintf(path, sizeof(path), "%.*s", (int)strcspn(module, " "), module);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && !syscall(SYS_finit_module, fd, parameters ? parameters + 1 : "", 0)) {
		close(fd);
		return true;
	}
	error = errno;
	channel_error("cannot load module %s: %s", path, strerror(error));
	return false;
}

/* An image has a modprobe, whose run would be measured in place of the kernel's looking for it. */
static void hide_modprobe(void)
{
	static const char none[] = "/none";
	int fd = open("/proc/sys/kernel/modprobe", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return; /* a kernel without modules */
	if (write(fd, none, sizeof(none) - 1) < 0)
		channel_error("hiding modprobe: %s", strerror(errno));
	close(fd);
}

static void load_modules(const struct request *request)
{
	for (size_t i = 0; i < request->n_modules; i++) {
		if (!load_module(request->module[i])) {
			channel_drain();
			power_off();
		}
	}
	if (!strcmp(request->suite, "syscall"))
		hide_modprobe();
}

/* Make the delay of access checks ready, where the request asks for one. */
static void open_delay(const struct request *request, struct delay *delay)
{
	const char *control = request->bpf_tunable ? "tunable-bpf" : NULL;
	const char *failed;

	if (request->sweep_control)
		control = request->sweep_control;
	failed = control ? delay_open(delay, control) : NULL;
	if (failed)
		abandon(failed);
	if (control)
		channel_fact("policy.control", "%s", control);
}

/* Put BPF programs that do nothing on the hooks of file operations. */
static void open_empty(void)
{
	int count = bpf_empty_load(WORK);

	if (count < 0)
		abandon(bpf_error());
	channel_fact("bpf.empty", "called");
	channel_fact("bpf.empty.programs", "%d", count);
	channel_fact("bpf.empty.hooks", "%s", bpf_empty_hooks());
}

/* Open what a module counts itself. */
static void open_counters(const struct request *request, struct counter *counter)
{
	const char *failed = counter_open(counter, request);

	if (failed)
		abandon(failed);
	for (unsigned int i = 0; i < counter->n_names; i++) {
		char key[32];

		snprintf(key, sizeof(key), "counter.%u", i + 1);
		channel_fact(key, "%s", counter->name[i]);
	}
}

/* Which functions are counted, in as many facts as that takes. */
static void tell_watched(const struct bpf_count *hooks)
{
	char key[32], names[1024];
	unsigned int i = 0, count = hooks->n_hooks;

	for (unsigned int part = 1; i < count; part++) {
		size_t used = 0;

		while (i < count && used + strlen(hooks->hook[i].name) + 2 < sizeof(names)) {
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 used ? "," : "", hooks->hook[i].name);
			i++;
		}
		snprintf(key, sizeof(key), "count.watched.%u", part);
		channel_fact(key, "%s", names);
	}
}

/* Put counters on the kernel's hooks, and check that they count. */
static void open_hooks(struct bpf_count *count)
{
	if (chdir(WORK))
		abandon("entering the directory of the benchmarks failed");
	if (bpf_count_open(count) || bpf_count_check(count))
		abandon(bpf_error());
	channel_fact("count.hooks", "%u", count->n_hooks);
	tell_watched(count);
	channel_fact("count.refused", "%s", count->refused);
}

/* Make ready what is counted in each reading. */
static void open_counts(const struct request *request, struct hook_counts *counts)
{
	if (request->n_counters)
		open_counters(request, &counts->counter);
	else if (request->count)
		open_hooks(&counts->bpf);
}

/* Mount what the benchmarks work on, unless that is done. */
static void open_work(const struct request *request)
{
	static bool done;
	const char *failed;
	char error[256];

	if (done)
		return;
	done = true;
	mkdir(WORK, 0755);
	failed = disk_mount(request->filesystem, WORK);
	if (failed) {
		snprintf(error, sizeof(error), "%s: %s", failed, strerror(errno));
		abandon(error);
	}
	channel_fact("filesystem", "%s", request->filesystem);
}

static const char *give_to_worker(const struct request *request, const char *path)
{
	return request->ordinary_user && chown(path, ORDINARY_USER, ORDINARY_USER)
		       ? "giving it to the ordinary user"
		       : NULL;
}

/*
 * Do what the setup asks for, with how long it took as facts. Three lines are of this file:
 * `work` mounts the file system of the benchmarks here, `own PATH` gives a file to the user that
 * measures, and `try` makes the accesses of the enforcement checks while no policy can refuse them.
 */
static void take_steps(const struct request *request)
{
	char error[1024], key[32];

	for (size_t i = 0; i < request->n_steps; i++) {
		uint64_t begin_ns = now_ns();
		const char *failed = NULL;

		workload_once(request, i);
		if (!strcmp(request->step[i], "work"))
			open_work(request);
		else if (!strncmp(request->step[i], "try", 3))
			enforcement_before(request, request->step[i]);
		else if (!strncmp(request->step[i], "own ", 4))
			failed = give_to_worker(request, request->step[i] + 4);
		else
			failed = step_run(request->step[i]);
		workload_once_done(request);
		if (failed) {
			snprintf(error, sizeof(error), "step %zu (%.120s): %s", i + 1,
				 request->step[i], failed);
			abandon(error);
		}
		snprintf(key, sizeof(key), "step.%zu", i + 1);
		channel_fact(key, "%" PRIu64, (now_ns() - begin_ns) >> request->icount_shift);
	}
	open_work(request);
}

/* Make the networks, where a benchmark needs one; a kernel without them skips these. */
static void open_network(const struct request *request)
{
	struct bench bench;

	for (size_t i = 0; i < request->n_benchmarks; i++) {
		if (bench_find(request->suite, request->benchmark[i], &bench) &&
		    bench.op->network) {
			network_join();
			return;
		}
	}
}

/* Run all benchmarks; how many were begun. */
static unsigned int measure(const struct session *session)
{
	const struct request *request = session->request;
	const char *failed;
	unsigned int begun;

	if (!request->n_clients)
		return worker_run_timed(session);
	failed = workload_start(request, session->work);
	if (failed)
		abandon(failed);
	if (request->timed)
		timing_open(&request->spin);
	/* Of what was prepared nothing is to be written back while something is measured. */
	disk_flush(request->filesystem, WORK);
	begun = workload_measure(request);
	if (request->timed)
		timing_close();
	return begun;
}

_Noreturn void init_main(void)
{
	static struct request request;
	static struct delay delay;
	static struct hook_counts counts BULK;
	char error[256];
	const char *failed, *work;
	int port;

	in_guest = true;
	mount_all();
	stop_housekeeping();
	port = open(ARCH_RESULT_PORT, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (port < 0) {
		fprintf(stderr, "lsmeter-probe: cannot open %s: %s\n", ARCH_RESULT_PORT,
			strerror(errno));
		power_off();
	}
	channel_open(port);
	channel_hello();
	if (!request_read("/request", &request, error, sizeof(error)))
		abandon(error);
	load_modules(&request);
	channel_fact(request.timed ? "boot.ns" : "boot.insns", "%" PRIu64,
		     now_ns() >> request.icount_shift);
	failed = request.root ? disk_fill(request.filesystem) : NULL;
	if (!failed && request.root)
		failed = root_enter(request.root);
	if (failed) {
		snprintf(error, sizeof(error), "%s: %s", failed, strerror(errno));
		abandon(error);
	}
	if (request.n_clients && !request.n_commands)
		mark_account(ACCOUNT_DRIVER); /* it counts from here on */
	take_steps(&request);
	facts_send();
	state_facts(&request);
	work = landlock_prepare(WORK, &request.landlock);
	if (!work)
		abandon("making the directories of the Landlock rules failed");
	open_delay(&request, &delay);
	if (request.bpf_empty)
		open_empty();
	open_counts(&request, &counts);
	open_network(&request);
	identity_facts(&request, work);
	labels_facts(&request, work);
	enforcement_check(&request, work);
	channel_bye(measure(&(struct session){
		.request = &request, .work = work, .counts = &counts, .delay = &delay}));
	channel_drain();
	power_off();
}
