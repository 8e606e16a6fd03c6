// SPDX-License-Identifier: GPL-2.0-or-later
#include "init/native.h"

#include "init/facts.h"
#include "init/hostfacts.h"
#include "init/state.h"
#include "init/steps.h"
#include "policy/become.h"
#include "policy/enforcement.h"
#include "policy/identity.h"
#include "policy/landlock.h"
#include "protocol/channel.h"
#include "protocol/request.h"
#include "sampler/scheduling.h"
#include "sampler/timing.h"
#include "sampler/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

/* What is for guests alone; NULL: nothing of it was asked for. */
static const char *refused(const struct request *request)
{
	if (request->n_modules || request->root || request->sweep_control || request->bpf_tunable ||
	    request->bpf_empty || request->count || request->whole_ppm || request->quiet)
		return "modules, images, sweeps, BPF programs, counts and whole costs are for a "
		       "guest";
	if (request->cold)
		return "cold readings drop the caches of the whole machine: they are for a guest";
	if (request->n_clients)
		return "workloads are for a guest";
	return NULL;
}

/* Mounts of our own, of which nobody else sees anything, and which end with us. */
static const char *open_mounts(const struct request *request, const char *work)
{
	if (geteuid())
		return NULL;
	if (unshare(CLONE_NEWNS))
		return errno == EPERM ? NULL : "making mounts of our own";
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return "keeping mounts to ourselves";
	/* Where it is not mounted, so that the list of modules can be read. */
	if (access("/sys/kernel/security/lsm", F_OK))
		mount("securityfs", "/sys/kernel/security", "securityfs", 0, NULL);
	if (!strcmp(request->filesystem, "tmpfs") &&
	    mount("tmpfs", work, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755"))
		return "mounting a tmpfs of our own";
	return NULL;
}

/* What the directory is on, as mount(2) calls it; what is not known by number is a number. */
static void filesystem_fact(const char *work)
{
	static const struct {
		unsigned long magic;
		const char *name;
	} known[] = {
		{TMPFS_MAGIC, "tmpfs"},	      {EXT4_SUPER_MAGIC, "ext4"}, {XFS_SUPER_MAGIC, "xfs"},
		{BTRFS_SUPER_MAGIC, "btrfs"}, {0x794c7630, "overlay"},
	};
	struct statfs status;

	if (statfs(work, &status))
		return;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		/* ext2, ext3 and ext4 share a number, and the driver is ext4's. */
		if ((unsigned long)status.f_type == known[i].magic) {
			channel_fact("filesystem", "%s", known[i].name);
			return;
		}
	}
	channel_fact("filesystem", "%lx", (unsigned long)status.f_type);
}

/* Make the directory whose path is left in `work`, which has LANDLOCK_PATH_BYTES. */
static const char *open_work(const struct request *request, const char *top, char *work)
{
	const char *failed;

	if (top[0] != '/' ||
	    snprintf(work, LANDLOCK_PATH_BYTES, "%s/data", top) >= LANDLOCK_PATH_BYTES)
		return "taking the directory, whose path must be absolute and short";
	if (mkdir(work, 0755))
		return "making a directory to work in";
	failed = open_mounts(request, work);
	if (failed)
		return failed;
	landlock_rules_in(top);
	filesystem_fact(work);
	return NULL;
}

/* `work` and `own` need nothing here but that files can be used by whoever measures. */
static const char *take_step(const struct request *request, const char *line)
{
	if (!strcmp(line, "work"))
		return NULL;
	if (!strncmp(line, "try", 3)) {
		enforcement_before(request, line);
		return NULL;
	}
	if (strncmp(line, "own ", 4))
		return step_run(line);
	if (request->ordinary_user && !geteuid() && chown(line + 4, ORDINARY_USER, ORDINARY_USER))
		return "giving it to the ordinary user";
	return NULL;
}

static bool take_steps(const struct request *request)
{
	for (size_t i = 0; i < request->n_steps; i++) {
		const char *failed = take_step(request, request->step[i]);

		if (!failed)
			continue;
		channel_error("step %zu (%.120s): %s", i + 1, request->step[i], failed);
		return false;
	}
	return true;
}

/* A group with a CPU of its own, if one was made for us: timing_open() chooses among its CPUs. */
static const char *enter_group(void)
{
	const char *group = getenv("LSMETER_CGROUP");
	char path[256];
	int fd;

	if (!group)
		return NULL;
	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		return "entering the group that was made for the probe";
	close(fd);
	return NULL;
}

/* Everything up to the last line; false where an error was sent. */
static bool run(const struct request *request, const char *top, struct scheduling scheduling)
{
	static char work[LANDLOCK_PATH_BYTES];
	const char *failed = enter_group(), *inside;
	unsigned int begun;

	if (!failed)
		failed = open_work(request, top, work);
	if (failed) {
		channel_error("%s: %s", failed, strerror(errno));
		return false;
	}
	timing_open(&request->spin);
	host_facts("host");
	if (!take_steps(request))
		return false;
	facts_send();
	state_facts(request);
	inside = landlock_prepare(work, &request->landlock);
	if (!inside) {
		channel_error("making the directories of the Landlock rules: %s", strerror(errno));
		return false;
	}
	identity_facts(request, inside);
	enforcement_check(request, inside);
	begun = worker_run_all(
		&(struct session){.request = request, .work = inside, .scheduling = scheduling});
	host_facts("host.after");
	timing_close();
	channel_bye(begun);
	return true;
}

int native_main(const char *top, const char *file, const char *ring, unsigned int place)
{
	static struct request request;
	char error[256];
	struct scheduling scheduling = {0};
	const char *wrong;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	umask(022);
	channel_open(STDOUT_FILENO);
	channel_hello();
	if (!request_read(file, &request, error, sizeof(error))) {
		channel_error("%s", error);
		return 2;
	}
	wrong = refused(&request);
	if (wrong) {
		channel_error("%s", wrong);
		return 2;
	}
	if (ring) {
		int error_number = scheduling_open(&scheduling, ring, place);

		if (error_number) {
			channel_error("taking a place among the turns of %.120s: %s", ring,
				      strerror(-error_number));
			return 2;
		}
	}
	return run(&request, top, scheduling) ? 0 : 1;
}
