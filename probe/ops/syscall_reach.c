// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The suite `syscall`: calls that few programs make and that ask hooks of their own: moving a
 * mount, options of a mount, a module for what is not there, a file's capabilities, a keyring for
 * the parent.
 */
#include "ops/define.h"

#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>

#define SUITE "syscall"

static int own_namespace(struct bench *bench)
{
	long error = sys4(SYS_unshare, CLONE_NEWNS, 0, 0, 0);

	(void)bench;
	if (!error)
		error = sys6(SYS_mount, 0, (long)"/", 0, MS_PRIVATE | MS_REC, 0, 0);
	if (!error)
		error = sys_mkdir("AA", 0755);
	return (int)(error ? error : sys_mkdir("BB", 0755));
}

/* A copy of a mount, put elsewhere. */
static int move_setup(struct bench *bench)
{
	int error = own_namespace(bench);

	return error ? error
		     : (int)sys6(SYS_mount, (long)"tmpfs", (long)"AA", (long)"tmpfs", 0, 0, 0);
}

static int move_arm(struct bench *bench)
{
	snprintf(bench->path[0], sizeof(bench->path[0]), "AA");
	snprintf(bench->path[1], sizeof(bench->path[1]), "BB");
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_open_tree,
				  .arg = {AT_FDCWD, (long)bench->path[0], OPEN_TREE_CLONE},
				  .expect = EXPECT_FD});
	push(bench, (struct call){.nr = SYS_move_mount,
				  .arg = {0, (long)"", AT_FDCWD, (long)bench->path[1],
					  MOVE_MOUNT_F_EMPTY_PATH},
				  .fd_from = 1});
	region_from(bench, 0);
	push(bench, CLOSE_OF(0));
	push(bench, (struct call){.nr = SYS_umount2, .arg = {(long)bench->path[1]}});
	return 0;
}
ALONE(move, "copy a mount and put it on another directory");
DEFINE_OP(move, "move-mount", .settles = true, .setup = move_setup, .run = run_in_row,
	  .privileged = true, .needs = "move_mount");

static int options_arm(struct bench *bench)
{
	snprintf(bench->path[0], sizeof(bench->path[0]), "AA");
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_mount,
				  .arg = {(long)"tmpfs", (long)bench->path[0], (long)"tmpfs", 0,
					  (long)"size=1m,mode=0755"}});
	region_from(bench, 0);
	push(bench, (struct call){.nr = SYS_umount2, .arg = {(long)bench->path[0]}});
	return 0;
}
ALONE(options, "mount a tmpfs with options");
DEFINE_OP(options, "mount-options", .settles = true, .setup = own_namespace, .run = run_in_row,
	  .privileged = true);

/* A family that no module has: the kernel looks for one first. */
#define NO_FAMILY 25 /* AF_PPPOX without its module: not in the guest */

static int request_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_socket,
					.arg = {bench->variant->value, SOCK_DGRAM},
					.want = -EAFNOSUPPORT});
}
VARIANTS(request,
	 VARIANT("", "a socket of a kind that the kernel looks for a module for", NO_FAMILY));
DEFINE_OP(request, "module-request", .settles = true, .guest_only = true);

/* The capabilities of a file go when its owner does. */
#define CAPABILITY "security.capability"
static const struct vfs_cap_data capabilities = {.magic_etc = VFS_CAP_REVISION_2};

static int killpriv_setup(struct bench *bench)
{
	long error = make_sized("HH", 1);

	(void)bench;
	if (!error)
		error = sys4(SYS_setxattr, (long)"HH", (long)CAPABILITY, (long)&capabilities,
			     XATTR_CAPS_SZ_2);
	if (!error)
		error = sys4(SYS_removexattr, (long)"HH", (long)CAPABILITY, 0, 0);
	return (int)error;
}

static int killpriv_arm(struct bench *bench)
{
	snprintf(bench->path[0], sizeof(bench->path[0]), "HH");
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_setxattr,
				  .arg = {(long)bench->path[0], (long)CAPABILITY,
					  (long)&capabilities, XATTR_CAPS_SZ_2}});
	push(bench,
	     (struct call){.nr = SYS_fchownat, .arg = {AT_FDCWD, (long)bench->path[0], 0, 0}});
	region_from(bench, 0);
	return 0;
}
ALONE(killpriv, "give a file capabilities, and take them by chown");
DEFINE_OP(killpriv, "file-capabilities", .setup = killpriv_setup, .run = run_in_row,
	  .privileged = true, .needs = "security attribute of a file");

/* A child gives its parent its own session keyring, which the parent has when it returns. */
static int parent_setup(struct bench *bench)
{
	long error = sys4(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0);

	(void)bench;
	return error < 0 ? (int)error : 0;
}

static int parent_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){CALLS(AS_FORK()), .expect = EXPECT_ID});
	push(bench, (struct call){.nr = SYS_wait4, .expect = EXPECT_ID});
	region_from(bench, 0);
	return 0;
}

static void parent_run(struct bench *bench)
{
	int status = 0;

	call_all(&bench->call[0]);
	if (!bench->call[0].result) {
		long error = sys4(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0);

		if (error > 0)
			error = sys4(SYS_keyctl, KEYCTL_SESSION_TO_PARENT, 0, 0, 0);
		sys4(SYS_exit_group, error != 0, 0, 0, 0);
	}
	bench->call[1].arg[0] = bench->call[0].result;
	bench->call[1].arg[1] = (long)&status;
	call_all(&bench->call[1]);
	bench->status = status;
}
ALONE(parent, "fork; the child gives a session keyring to its parent; wait");
DEFINE_OP(parent, "keyring-to-parent", .settles = true, .processes = true, .setup = parent_setup,
	  .run = parent_run, .calls = "clone+wait4+keyctl", .cycle = "fork+wait4",
	  .needs = "keyring");
