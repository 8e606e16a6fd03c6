// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The suite `syscall`: calls that are rare, each with hooks of its own.
 */
#include "layout/own_memory.h"
#include "ops/define.h"

#include <linux/perf_event.h>
#include <linux/rtnetlink.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/quota.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define SUITE "syscall"

static char text[65536] BULK;

static const char *name(struct bench *bench, const char *word)
{
	snprintf(bench->path[0], sizeof(bench->path[0]), "%s", word);
	return bench->path[0];
}

/* An access control list: who owns, its group, all others. */
enum acl { GET, SET, REMOVE };

static const struct {
	uint32_t version;
	struct {
		uint16_t tag, rights;
		uint32_t id;
	} entry[3];
} list = {2, {{1, 6, ~0U}, {4, 4, ~0U}, {0x20, 4, ~0U}}};
static const char list_name[] = "system.posix_acl_access";

static long set_list(void)
{
	return sys6(SYS_setxattr, (long)"HH", (long)list_name, (long)&list, sizeof(list), 0, 0);
}

static int acl_setup(struct bench *bench)
{
	int error = make_sized("HH", 0);

	(void)bench;
	return error ? error : (int)set_list();
}

static int acl_before(struct bench *bench)
{
	return bench->variant->value == SET ? 0 : (int)set_list();
}

static int acl_arm(struct bench *bench)
{
	const long path = (long)name(bench, "HH"), of = (long)list_name;
	const struct call call[] = {
		[GET] = {.nr = SYS_getxattr,
			 .arg = {path, of, (long)text, 256},
			 .expect = EXPECT_VALUE,
			 .want = -ENODATA},
		[SET] = {.nr = SYS_setxattr, .arg = {path, of, (long)&list, sizeof(list)}},
		[REMOVE] = {.nr = SYS_removexattr, .arg = {path, of}},
	};

	return one(bench, call[bench->variant->value]);
}
/* A list of these three says no more than the mode, and the kernel keeps none. */
VARIANTS(acl, VARIANT("call=get", "the access control list of a file that has none", GET),
	 VARIANT("call=set", "set an access control list that is the mode", SET),
	 VARIANT("call=remove", "remove an access control list", REMOVE));
DEFINE_OP(acl, "acl", .setup = acl_setup, .before = acl_before, .run = run_in_row,
	  .cycle = "setxattr", .needs = "access control list");

/* A file without a name, and one that mknod makes. */
static int tmpfile_setup(struct bench *bench)
{
	int fd = sys_open(".", O_TMPFILE | O_RDWR, 0600);

	(void)bench;
	return fd < 0 ? fd : sys_close(fd);
}

static int tmpfile_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){CALLS(AS_OPEN(name(bench, "."), O_TMPFILE | O_RDWR, 0600)),
				  .expect = EXPECT_FD});
	push(bench, CLOSE_OF(0));
	region_from(bench, 0);
	return 0;
}
ALONE(tmpfile, "open a file without a name (O_TMPFILE), and close it");
DEFINE_OP(tmpfile, "tmpfile", .setup = tmpfile_setup, .run = run_in_row, .settles = true,
	  .needs = "O_TMPFILE");

static int regular_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_mknodat,
				  .arg = {AT_FDCWD, (long)name(bench, "NN"), S_IFREG | 0600}});
	region_from(bench, 0);
	push(bench, (struct call){CALLS(AS_UNLINK(bench->path[0]))});
	return 0;
}
ALONE(regular, "mknod of a regular file");
DEFINE_OP(regular, "mknod-file");

/* What the kernel says in /proc. */
static int proc_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){CALLS(AS_OPEN(name(bench, bench->variant->path), O_RDONLY, 0)),
				  .expect = EXPECT_FD});
	push(bench, (struct call){.nr = SYS_read,
				  .arg = {0, (long)text, sizeof(text)},
				  .expect = EXPECT_FD,
				  .fd_from = 1});
	push(bench, CLOSE_OF(0));
	region_from(bench, 0);
	return 0;
}
#define PROC(word, where, text) \
	{.params = "file=" word, .origin = ORIGIN_OWN, .title = text, .path = where}
VARIANTS(proc, PROC("stat", "/proc/self/stat", "read /proc/self/stat"),
	 PROC("mountinfo", "/proc/self/mountinfo", "read /proc/self/mountinfo"));
DEFINE_OP(proc, "proc", .run = run_in_row);

/* A signal that a pipe sends when something is written. */
static int signal_setup(struct bench *bench)
{
	long error = sys4(AS_PIPE(bench->fd));

	signal(SIGIO, SIG_IGN);
	if (!error)
		error = sys4(SYS_fcntl, bench->fd[0], F_SETOWN, sys4(SYS_getpid, 0, 0, 0, 0), 0);
	if (!error)
		error = sys4(SYS_fcntl, bench->fd[0], F_SETFL, O_ASYNC, 0);
	return (int)error;
}

static int signal_arm(struct bench *bench)
{
	bench->call[0] =
		(struct call){.nr = SYS_write, .arg = {bench->fd[1], (long)text, 1}, .want = 1};
	bench->call[1] =
		(struct call){.nr = SYS_read, .arg = {bench->fd[0], (long)text, 1}, .want = 1};
	bench->first = 0;
	TWO_CALLS(bench);
	return 0;
}
ALONE(signal, "write to a pipe that sends SIGIO, which is ignored, and read");
DEFINE_OP(signal, "sigio", .setup = signal_setup);

/* A question to the kernel by netlink, and its answer. */
static struct {
	struct nlmsghdr header;
	struct rtgenmsg body;
} question = {
	.header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtgenmsg)),
		   .nlmsg_type = RTM_GETLINK,
		   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
	.body = {.rtgen_family = AF_UNSPEC},
};

static int netlink_setup(struct bench *bench)
{
	bench->fd[0] = (int)sys4(SYS_socket, AF_NETLINK, SOCK_RAW, 0, 0);
	return bench->fd[0] < 0 ? bench->fd[0] : 0;
}

static int netlink_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_write,
				  .arg = {bench->fd[0], (long)&question, question.header.nlmsg_len},
				  .want = (long)question.header.nlmsg_len});
	push(bench, (struct call){.nr = SYS_read,
				  .arg = {bench->fd[0], (long)text, sizeof(text)},
				  .expect = EXPECT_FD});
	push(bench, (struct call){.nr = SYS_read,
				  .arg = {bench->fd[0], (long)text, sizeof(text)},
				  .expect = EXPECT_FD});
	region_from(bench, 0);
	return 0;
}
ALONE(netlink, "ask by netlink which devices there are");
DEFINE_OP(netlink, "netlink", .setup = netlink_setup, .run = run_in_row, .needs = "netlink");

/* A counter that counts nothing: reading and resetting it. */
static struct perf_event_attr event = {
	.type = PERF_TYPE_SOFTWARE,
	.size = sizeof(event),
	.config = PERF_COUNT_SW_DUMMY,
	.exclude_kernel = 1,
};

static int perf_setup(struct bench *bench)
{
	bench->fd[0] = (int)sys6(SYS_perf_event_open, (long)&event, 0, -1, -1, 0, 0);
	return bench->fd[0] < 0 ? bench->fd[0]
				: (int)sys4(SYS_ioctl, bench->fd[0], PERF_EVENT_IOC_RESET, 0, 0);
}

static int perf_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_read, .arg = {bench->fd[0], (long)text, 8}, .want = 8});
	push(bench, (struct call){.nr = SYS_ioctl, .arg = {bench->fd[0], PERF_EVENT_IOC_RESET}});
	region_from(bench, 0);
	return 0;
}
ALONE(perf, "perf: read and reset a counter");
DEFINE_OP(perf, "perf-read", .setup = perf_setup, .run = run_in_row, .privileged = true,
	  .needs = "perf");

/* The system calls of security modules, since Linux 6.8. */
#define NR_LSM_GET_SELF_ATTR 459
#define LSM_ATTR_CURRENT     100

static uint32_t attribute_bytes;

static long own_attribute(void)
{
	attribute_bytes = sizeof(text);
	return sys4(NR_LSM_GET_SELF_ATTR, LSM_ATTR_CURRENT, (long)text, (long)&attribute_bytes, 0);
}

static int attribute_setup(struct bench *bench)
{
	long n = own_attribute();

	(void)bench;
	return n < 0 ? (int)n : n ? 0 : -EOPNOTSUPP;
}

static int attribute_before(struct bench *bench)
{
	(void)bench;
	attribute_bytes = sizeof(text);
	return 0;
}

static int attribute_arm(struct bench *bench)
{
	return one(bench,
		   (struct call){.nr = NR_LSM_GET_SELF_ATTR,
				 .arg = {LSM_ATTR_CURRENT, (long)text, (long)&attribute_bytes, 0},
				 .expect = EXPECT_FD});
}
ALONE(attribute, "lsm_get_self_attr: the label of this process");
DEFINE_OP(attribute, "lsm-attribute", .setup = attribute_setup, .before = attribute_before,
	  .calls = "lsm_get_self_attr", .cycle = "lsm_get_self_attr",
	  .needs = "label by lsm_get_self_attr");

/* Only in a guest: what is no module is refused, after it was read. */
static int module_setup(struct bench *bench)
{
	int error = make_sized("HH", 4096);

	bench->fd[0] = error ? -1 : sys_open("HH", O_RDONLY, 0);
	if (!error && bench->fd[0] >= 0)
		error = (int)sys4(SYS_finit_module, bench->fd[0], (long)"", 0, 0);
	return error == -ENOEXEC ? 0 : error;
}

static int module_arm(struct bench *bench)
{
	const struct call file = {
		.nr = SYS_finit_module, .arg = {bench->fd[0], (long)"", 0}, .want = -ENOEXEC};
	const struct call memory = {
		.nr = SYS_init_module, .arg = {(long)text, 4096, (long)""}, .want = -ENOEXEC};

	return one(bench, bench->variant->value ? memory : file);
}
VARIANTS(module, VARIANT("from=file", "finit_module of a file that is no module", 0),
	 VARIANT("from=memory", "init_module of what is no module", 1));
DEFINE_OP(module, "module", .setup = module_setup, .privileged = true, .guest_only = true,
	  .settles = true, .needs = "loading of modules");

static int quota_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_quotactl, .arg = {QCMD(Q_SYNC, USRQUOTA)}});
}

static int quota_setup(struct bench *bench)
{
	(void)bench;
	return (int)sys4(SYS_quotactl, QCMD(Q_SYNC, USRQUOTA), 0, 0, 0);
}
ALONE(quota, "quotactl: write back all quotas, of which there are none");
DEFINE_OP(quota, "quotactl", .setup = quota_setup, .privileged = true, .guest_only = true,
	  .needs = "quota");

static int kcore_setup(struct bench *bench)
{
	int fd = sys_open("/proc/kcore", O_RDONLY, 0);

	(void)bench;
	return fd == -ENOENT ? -ENOSYS : fd < 0 ? fd : sys_close(fd);
}

static int kcore_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){CALLS(AS_OPEN(name(bench, "/proc/kcore"), O_RDONLY, 0)),
				  .expect = EXPECT_FD});
	region_from(bench, 0);
	push(bench, CLOSE_OF(0));
	return 0;
}
ALONE(kcore, "open the kernel's memory, which lockdown may forbid");
DEFINE_OP(kcore, "kcore", .setup = kcore_setup, .privileged = true, .guest_only = true,
	  .needs = "/proc/kcore");
