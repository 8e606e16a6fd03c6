// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The suite `syscall`: files of an overlay over a directory, in a mount namespace of the
 * benchmark's own. It is mounted anew for each reading, so that nothing was copied before.
 */
#include "ops/define.h"

#include <sched.h>
#include <sys/mount.h>

#define SUITE "syscall"

enum overlay { COPY_UP, CREATE };

/* On a file system that an overlay cannot lie upon there is none. */
static int mount_overlay(struct bench *bench)
{
	static const char options[] = "lowerdir=lower,upperdir=upper,workdir=work";
	long error =
		sys6(SYS_mount, (long)"overlay", (long)"all", (long)"overlay", 0, (long)options, 0);

	(void)bench;
	return error == -EINVAL ? -EOPNOTSUPP : (int)error;
}

static int overlay_setup(struct bench *bench)
{
	static const char *const directories[] = {"lower", "upper", "work", "all"};
	long error = sys4(SYS_unshare, CLONE_NEWNS, 0, 0, 0);

	if (!error)
		error = sys6(SYS_mount, 0, (long)"/", 0, MS_PRIVATE | MS_REC, 0, 0);
	for (int i = 0; !error && i < 4; i++)
		error = sys_mkdir(directories[i], 0755);
	if (!error)
		error = make_sized("lower/HH", 4096);
	/* What is copied has an attribute as well. */
	if (!error)
		error = sys6(SYS_setxattr, (long)"lower/HH", (long)"trusted.lsmeter", (long)"x", 1,
			     0, 0);
	if (!error)
		error = mount_overlay(bench);
	return (int)(error ? error : sys4(SYS_umount2, (long)"all", 0, 0, 0));
}

static int overlay_arm(struct bench *bench)
{
	bool create = bench->variant->value == CREATE;

	snprintf(bench->path[0], sizeof(bench->path[0]), "all/%s", create ? "NN" : "HH");
	snprintf(bench->path[1], sizeof(bench->path[1]), "upper/%s", create ? "NN" : "HH");
	cycle_begin(bench);
	push(bench, (struct call){CALLS(AS_OPEN(bench->path[0],
						O_WRONLY | (create ? O_CREAT | O_EXCL : 0), 0644)),
				  .expect = EXPECT_FD});
	push(bench, CLOSE_OF(0));
	region_from(bench, 0);
	push(bench, (struct call){.nr = SYS_umount2, .arg = {(long)"all"}});
	push(bench, (struct call){CALLS(AS_UNLINK(bench->path[1]))});
	return 0;
}
VARIANTS(overlay,
	 VARIANT("op=copy-up", "open a lower file of 4096 bytes to write: it is copied", COPY_UP),
	 VARIANT("op=create", "make a file in an overlay", CREATE));
DEFINE_OP(overlay, "overlay", .settles = true, .setup = overlay_setup, .before = mount_overlay,
	  .run = run_in_row, .cycle = "mount+open+close+umount2+unlink", .privileged = true,
	  .needs = "overlay on this file system");
