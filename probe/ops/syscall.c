// SPDX-License-Identifier: GPL-2.0-or-later
/* The suite `syscall`: plain calls on descriptors, a mix of calls, and what the kernel tells. */
#include "ops/define.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>

#define SUITE "syscall"

static char byte;
static char text[4096];
static struct stat status;

ROWS();

/* A byte from /dev/zero, a byte to /dev/null: what lmbench takes for read and write. */
static int device_setup(struct bench *bench)
{
	bench->fd[0] = sys_open(bench->variant->path, O_RDWR, 0);
	return bench->fd[0] < 0 ? bench->fd[0] : 0;
}

static int read_arm(struct bench *bench)
{
	return one(bench,
		   (struct call){.nr = SYS_read, .arg = {bench->fd[0], (long)&byte, 1}, .want = 1});
}

static int write_arm(struct bench *bench)
{
	return one(
		bench,
		(struct call){.nr = SYS_write, .arg = {bench->fd[0], (long)&byte, 1}, .want = 1});
}

#define DEVICE(word, text) \
	{.params = "file=" word, .origin = ORIGIN_OWN, .title = text, .path = "/dev/" word}

VARIANTS(read, DEVICE("zero", "read a byte from /dev/zero"));
DEFINE_OP(read, "read", .setup = device_setup);
VARIANTS(write, DEVICE("null", "write a byte to /dev/null"));
DEFINE_OP(write, "write", .setup = device_setup);

/* A file of 4 KiB, open. */
static int file_setup(struct bench *bench)
{
	int error = make_sized("HH", 4096);

	if (!error)
		error = sys_settle_times("HH");
	bench->fd[0] = error ? -1 : sys_open("HH", O_RDWR, 0);
	return error ? error : bench->fd[0] < 0 ? bench->fd[0] : 0;
}

static int stat_arm(struct bench *bench)
{
	snprintf(bench->path[0], sizeof(bench->path[0]), "HH");
	return one(bench, (struct call){CALLS(AS_STAT(bench->path[0], &status))});
}
ALONE(stat, "stat a file by 1 component");
DEFINE_OP(stat, "stat", .setup = file_setup);

static int fstat_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_fstat, .arg = {bench->fd[0], (long)&status}});
}
ALONE(fstat, "fstat an open file");
DEFINE_OP(fstat, "fstat", .setup = file_setup);

static struct statfs filesystem;

static int fstatfs_arm(struct bench *bench)
{
	return one(bench,
		   (struct call){.nr = SYS_fstatfs, .arg = {bench->fd[0], (long)&filesystem}});
}
ALONE(fstatfs, "fstatfs of an open file");
DEFINE_OP(fstatfs, "fstatfs", .setup = file_setup);

static int openclose_arm(struct bench *bench)
{
	snprintf(bench->path[0], sizeof(bench->path[0]), "HH");
	cycle_begin(bench);
	push(bench,
	     (struct call){CALLS(AS_OPEN(bench->path[0], O_RDONLY, 0)), .expect = EXPECT_FD});
	push(bench, CLOSE_OF(0));
	region_from(bench, 0);
	return 0;
}
ALONE(openclose, "open and close a file");
DEFINE_OP(openclose, "open-close", .setup = file_setup, .run = run_in_row);

/* UnixBench's mix: no module has a say in any of them. */
static int mix_arm(struct bench *bench)
{
	static const long call[] = {SYS_getpid, SYS_getuid, SYS_umask};

	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_dup, .arg = {bench->fd[0]}, .expect = EXPECT_FD});
	push(bench, CLOSE_OF(0));
	for (unsigned int i = 0; i < ARRAY_SIZE(call); i++)
		push(bench, (struct call){.nr = call[i], .arg = {022}, .expect = EXPECT_ID});
	region_from(bench, 0);
	return 0;
}
ALONE(mix, "mix of calls: dup, close, getpid, getuid, umask");
DEFINE_OP(mix, "mix", .setup = file_setup, .run = run_in_row);

static struct utsname names;

static int uname_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_uname, .arg = {(long)&names}});
}
ALONE(uname, "uname");
DEFINE_OP(uname, "uname");

static int lseek_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_lseek, .arg = {bench->fd[0], 0, SEEK_SET}});
}
ALONE(lseek, "lseek to the front of a file");
DEFINE_OP(lseek, "lseek", .setup = file_setup);

static int getcwd_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_getcwd,
					.arg = {(long)text, sizeof(text)},
					.expect = EXPECT_FD});
}
ALONE(getcwd, "getcwd");
DEFINE_OP(getcwd, "getcwd");

/* fcntl: value is the command. What is locked is unlocked again. */
static struct flock whole_file = {.l_type = F_WRLCK}, nothing = {.l_type = F_UNLCK};

static int fcntl_setup(struct bench *bench)
{
	int error = file_setup(bench);
	struct flock found = whole_file;

	if (error || bench->variant->value != F_SETLK)
		return error;
	error = (int)sys4(SYS_fcntl, bench->fd[0], F_GETLK, (long)&found, 0);
	return error == -EINVAL ? -ENOSYS : error; /* of a kernel that locks no files */
}

static int fcntl_arm(struct bench *bench)
{
	long command = bench->variant->value;
	struct call call = {.nr = SYS_fcntl,
			    .arg = {bench->fd[0], command, (long)&whole_file},
			    .expect = EXPECT_FD};

	cycle_begin(bench);
	if (command == F_SETFD || command == F_SETFL)
		call.arg[2] = 0;
	else if (command == F_SETOWN)
		call.arg[2] = sys4(SYS_getpid, 0, 0, 0, 0);
	else if (command == F_DUPFD)
		call.arg[2] = 3;
	push(bench, call);
	region_from(bench, 0);
	if (command == F_DUPFD)
		push(bench, CLOSE_OF(0));
	else if (command == F_SETLK)
		push(bench, (struct call){.nr = SYS_fcntl,
					  .arg = {bench->fd[0], F_SETLK, (long)&nothing}});
	return 0;
}
VARIANTS(fcntl, VARIANT("command=getfl", "fcntl: flags of a file", F_GETFL),
	 VARIANT("command=setfl", "fcntl: set the flags of a file", F_SETFL),
	 VARIANT("command=setfd", "fcntl: set the flags of a descriptor", F_SETFD),
	 VARIANT("command=dupfd", "fcntl: duplicate a descriptor", F_DUPFD),
	 VARIANT("command=setown", "fcntl: who gets a file's signals", F_SETOWN),
	 VARIANT("command=setlk", "fcntl: lock a file", F_SETLK));
DEFINE_OP(fcntl, "fcntl", .setup = fcntl_setup, .needs = "lock of a file");

static int flock_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_flock, .arg = {bench->fd[0], 2 /* LOCK_EX */}});
	region_from(bench, 0);
	push(bench, (struct call){.nr = SYS_flock, .arg = {bench->fd[0], 8 /* LOCK_UN */}});
	return 0;
}
ALONE(flock, "flock a file");
DEFINE_OP(flock, "flock", .setup = file_setup);

static int ioctl_arm(struct bench *bench)
{
	static int left;

	return one(bench,
		   (struct call){.nr = SYS_ioctl, .arg = {bench->fd[0], FIONREAD, (long)&left}});
}
ALONE(ioctl, "ioctl FIONREAD of a file");
DEFINE_OP(ioctl, "ioctl", .setup = file_setup);

static int ftruncate_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_ftruncate, .arg = {bench->fd[0], 4096}});
}
ALONE(ftruncate, "ftruncate a file to the size that it has");
DEFINE_OP(ftruncate, "ftruncate", .setup = file_setup);

static int ends[2];

/* From a file through a pipe, and from a file to a file. */
static int splice_setup(struct bench *bench)
{
	int error = file_setup(bench);

	if (!error)
		error = (int)sys4(AS_PIPE(ends));
	bench->status = 0;
	bench->fd[1] = sys_open("/dev/null", O_WRONLY, 0);
	return error ? error : bench->fd[1] < 0 ? bench->fd[1] : 0;
}

static int64_t offset;

static int splice_arm(struct bench *bench)
{
	const long size = bench->variant->value;

	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_splice,
				  .arg = {bench->fd[0], (long)&offset, ends[1], 0, size},
				  .want = size});
	push(bench, (struct call){.nr = SYS_splice,
				  .arg = {ends[0], 0, bench->fd[1], 0, size},
				  .want = size});
	region_from(bench, 0);
	return 0;
}

static void splice_run(struct bench *bench)
{
	offset = 0;
	run_in_row(bench);
}
VARIANTS(splice, VARIANT("size=4096", "splice a page from a file by a pipe to /dev/null", 4096));
DEFINE_OP(splice, "splice", .setup = splice_setup, .run = splice_run);

static int sendfile_arm(struct bench *bench)
{
	const long size = bench->variant->value;

	return one(bench, (struct call){.nr = SYS_sendfile,
					.arg = {bench->fd[1], bench->fd[0], (long)&offset, size},
					.want = size});
}

static int rewind_offset(struct bench *bench)
{
	(void)bench;
	offset = 0;
	return 0;
}
VARIANTS(sendfile, VARIANT("size=4096", "sendfile of a page to /dev/null", 4096));
DEFINE_OP(sendfile, "sendfile", .setup = splice_setup, .before = rewind_offset);
