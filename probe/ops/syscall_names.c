// SPDX-License-Identifier: GPL-2.0-or-later
/* The suite `syscall`: calls on names that the file suite does not have, and extended attributes.
 */
#include "layout/own_memory.h"
#include "ops/define.h"

#include <stdint.h>
#include <sys/stat.h>

#define SUITE "syscall"

static char text[65536] BULK;

static const char *name(struct bench *bench, unsigned int slot, const char *word)
{
	snprintf(bench->path[slot], sizeof(bench->path[slot]), "%s", word);
	return bench->path[slot];
}

static int file_setup(struct bench *bench)
{
	int error = make_sized("HH", 4096);

	(void)bench;
	if (!error)
		error = sys_symlink("HH", "SS");
	if (!error)
		error = sys_mkdir("AA", 0755);
	return error ? error : sys_settle_times("HH");
}

static int access_arm(struct bench *bench)
{
	return one(bench, (struct call){CALLS(AS_ACCESS(name(bench, 0, "HH"), 4))});
}
ALONE(access, "access: may a file be read");
DEFINE_OP(access, "access", .setup = file_setup);

static int access_refused_arm(struct bench *bench)
{
	return one(bench, (struct call){CALLS(AS_ACCESS(name(bench, 0, "HH"), 1)),
					.expect = EXPECT_VALUE, .want = -EACCES});
}
ALONE(access_refused, "access: may a file be run that its mode lets nobody run");
DEFINE_OP(access_refused, "access-refused", .setup = file_setup);

static int chdir_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_chdir, .arg = {(long)name(bench, 0, ".")}});
}
ALONE(chdir, "chdir to the directory that it is in");
DEFINE_OP(chdir, "chdir");

static int chown_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_fchownat,
					.arg = {AT_FDCWD, (long)name(bench, 0, "HH"),
						sys4(SYS_geteuid, 0, 0, 0, 0),
						sys4(SYS_getegid, 0, 0, 0, 0)}});
}

static void chown_run(struct bench *bench)
{
	call_all(&bench->call[0]);
}
ALONE(chown, "chown a file to whom it belongs to");
DEFINE_OP(chown, "chown", .setup = file_setup, .run = chown_run);

static int utimes_arm(struct bench *bench)
{
	static const struct timespec times[2] = {{.tv_sec = 2000000000}, {.tv_sec = 1000000000}};

	return one(bench,
		   (struct call){.nr = SYS_utimensat,
				 .arg = {AT_FDCWD, (long)name(bench, 0, "HH"), (long)times}});
}
ALONE(utimes, "utimensat: set the times of a file");
DEFINE_OP(utimes, "utimes", .setup = file_setup);

static int truncate_arm(struct bench *bench)
{
	return one(bench,
		   (struct call){.nr = SYS_truncate, .arg = {(long)name(bench, 0, "HH"), 4096}});
}
ALONE(truncate, "truncate a file to the size that it has");
DEFINE_OP(truncate, "truncate", .setup = file_setup);

static int readlink_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_readlinkat,
					.arg = {AT_FDCWD, (long)name(bench, 0, "SS"), (long)text,
						sizeof(text)},
					.want = 2});
}
ALONE(readlink, "readlink");
DEFINE_OP(readlink, "readlink", .setup = file_setup);

/* A new name, which is removed again. */
static int link_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){CALLS(AS_LINK(name(bench, 0, "HH"), name(bench, 1, "LL")))});
	region_from(bench, 0);
	push(bench, (struct call){CALLS(AS_UNLINK(bench->path[1]))});
	return 0;
}
ALONE(link, "a second name of a file");
DEFINE_OP(link, "link", .setup = file_setup);

static int mknod_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_mknodat,
				  .arg = {AT_FDCWD, (long)name(bench, 0, "NN"), S_IFIFO | 0600}});
	region_from(bench, 0);
	push(bench, (struct call){CALLS(AS_UNLINK(bench->path[0]))});
	return 0;
}
ALONE(mknod, "mknod of a FIFO");
DEFINE_OP(mknod, "mknod");

static int chroot_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_chroot, .arg = {(long)name(bench, 0, ".")}});
}
ALONE(chroot, "chroot to the directory that it is in");
DEFINE_OP(chroot, "chroot", .privileged = true);

/* All entries of a directory; its times are settled once, so that none of them changes. */
static int entries_setup(struct bench *bench)
{
	char path[32];
	int error = sys_mkdir("DD", 0755);

	for (long i = 0; i < bench->variant->value && !error; i++) {
		snprintf(path, sizeof(path), "DD/e%04ld", i);
		error = make_sized(path, 0);
	}
	if (!error)
		error = sys_settle_times("DD");
	bench->fd[0] = error ? -1 : sys_open("DD", O_RDONLY | O_DIRECTORY, 0);
	return error ? error : bench->fd[0] < 0 ? bench->fd[0] : 0;
}

static int entries_arm(struct bench *bench)
{
	struct call rewind = {.nr = SYS_lseek, .arg = {bench->fd[0], 0, SEEK_SET}};
	struct call get = {.nr = SYS_getdents64,
			   .arg = {bench->fd[0], (long)text, sizeof(text)},
			   .expect = EXPECT_FD};

	cycle_begin(bench);
	push(bench, rewind);
	push(bench, get);
	region_from(bench, 1);
	return 0;
}

static int entries_teardown(struct bench *bench)
{
	char path[32];

	for (long i = 0; i < bench->variant->value; i++) {
		snprintf(path, sizeof(path), "DD/e%04ld", i);
		sys4(AS_UNLINK(path));
	}
	return sys_close(bench->fd[0]);
}
VARIANTS(entries, VARIANT("entries=10", "getdents of a directory of 10 files", 10),
	 VARIANT("entries=1000", "getdents of a directory of 1000 files", 1000));
DEFINE_OP(entries, "getdents", .setup = entries_setup, .teardown = entries_teardown);

/* Extended attributes: user.*, or trusted.* where the file system does not have the former. */
enum xattr { GET, SET, LIST, REMOVE };

static const char *attribute;
static const char value[16];

static long set_attribute(const char *named)
{
	attribute = named;
	return sys6(SYS_setxattr, (long)"HH", (long)named, (long)value, sizeof(value), 0, 0);
}

static int xattr_setup(struct bench *bench)
{
	int error = file_setup(bench);

	if (!error)
		error = (int)set_attribute("user.lsmeter");
	if (error == -EOPNOTSUPP || error == -EPERM)
		error = (int)set_attribute("trusted.lsmeter");
	/* Only root has the latter: there are none for others then. */
	return error == -EPERM ? -EOPNOTSUPP : error;
}

static int xattr_arm(struct bench *bench)
{
	const long path = (long)name(bench, 0, "HH"), of = (long)attribute;
	const struct call call[] = {
		[GET] = {.nr = SYS_getxattr, .arg = {path, of, (long)text, 64}, .want = 16},
		[SET] = {.nr = SYS_setxattr, .arg = {path, of, (long)value, sizeof(value)}},
		[LIST] = {.nr = SYS_listxattr, .arg = {path, (long)text, 256}, .expect = EXPECT_FD},
		[REMOVE] = {.nr = SYS_removexattr, .arg = {path, of}},
	};

	cycle_begin(bench);
	push(bench, call[bench->variant->value]);
	region_from(bench, 0);
	return 0;
}

/* Put back what the last cycle removed. */
static int xattr_before(struct bench *bench)
{
	return bench->variant->value == REMOVE ? (int)set_attribute(attribute) : 0;
}
VARIANTS(xattr, VARIANT("call=get", "getxattr of 16 bytes", GET),
	 VARIANT("call=set", "setxattr of 16 bytes, as many as it has", SET),
	 VARIANT("call=list", "listxattr", LIST),
	 VARIANT("call=remove", "removexattr of 16 bytes", REMOVE));

static void xattr_run(struct bench *bench)
{
	call_all(&bench->call[0]);
}
DEFINE_OP(xattr, "xattr", .setup = xattr_setup, .before = xattr_before, .run = xattr_run,
	  .needs = "extended attribute");
