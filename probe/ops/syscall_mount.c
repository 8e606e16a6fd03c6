// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The suite `syscall`: mounts, in a mount namespace of the benchmark's own.
 */
#include "ops/define.h"

#include <sched.h>
#include <sys/mount.h>

#define SUITE "syscall"

enum mount { NEW, BIND, AGAIN };

static int own_namespace(void)
{
	long error = sys4(SYS_unshare, CLONE_NEWNS, 0, 0, 0);

	return (int)(error ? error : sys6(SYS_mount, 0, (long)"/", 0, MS_PRIVATE | MS_REC, 0, 0));
}

static long mount_on(const char *what, const char *where, unsigned long flags)
{
	return sys6(SYS_mount, (long)what, (long)where, (long)"tmpfs", (long)flags, 0, 0);
}

static int mount_setup(struct bench *bench)
{
	int error = own_namespace();

	if (!error)
		error = sys_mkdir("AA", 0755);
	if (!error)
		error = sys_mkdir("BB", 0755);
	if (!error && bench->variant->value == AGAIN)
		error = (int)mount_on("tmpfs", "AA", 0);
	return error;
}

static int mount_arm(struct bench *bench)
{
	const long tmpfs = (long)"tmpfs", at = (long)bench->path[0];
	const struct call umount = {.nr = SYS_umount2, .arg = {at}};
	struct call call = {.nr = SYS_mount, .arg = {tmpfs, at, tmpfs}};

	snprintf(bench->path[0], sizeof(bench->path[0]), "AA");
	snprintf(bench->path[1], sizeof(bench->path[1]), "BB");
	cycle_begin(bench);
	if (bench->variant->value == BIND) {
		call.arg[0] = (long)bench->path[1];
		call.arg[3] = MS_BIND;
	} else if (bench->variant->value == AGAIN) {
		call.arg[3] = MS_REMOUNT | MS_NOEXEC;
	}
	push(bench, call);
	region_from(bench, 0);
	if (bench->variant->value != AGAIN)
		push(bench, umount);
	return 0;
}

/* The fifth argument, what the file system is to be told, has to be nothing. */
static void mount_run(struct bench *bench)
{
	call_all(&bench->call[bench->first]);
}

VARIANTS(mount, VARIANT("type=tmpfs", "mount a tmpfs", NEW),
	 VARIANT("type=bind", "mount a directory on another", BIND),
	 VARIANT("type=remount", "change the flags of a mounted tmpfs", AGAIN));
DEFINE_OP(mount, "mount", .settles = true, .setup = mount_setup, .run = mount_run,
	  .privileged = true);

static int umount_before(struct bench *bench)
{
	(void)bench;
	return (int)mount_on("tmpfs", "AA", 0);
}

static int umount_arm(struct bench *bench)
{
	snprintf(bench->path[0], sizeof(bench->path[0]), "AA");
	return one(bench, (struct call){.nr = SYS_umount2, .arg = {(long)bench->path[0]}});
}
ALONE(umount, "unmount a tmpfs");
DEFINE_OP(umount, "umount", .settles = true, .setup = mount_setup, .before = umount_before,
	  .cycle = "mount+umount2", .privileged = true);
