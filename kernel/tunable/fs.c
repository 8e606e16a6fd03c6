// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tunable policy latency - user space interface in securityfs
 *
 * tunable/inode_delay_ns and tunable/file_delay_ns: the latency of each check
 * of an inode and of an open file. Setting one begins its counts anew.
 * tunable/limit_ns: the largest value that they accept.
 * tunable/counts: lines of a name and a number; see tunable_counts_show().
 */

#include <linux/err.h>
#include <linux/init.h>
#include <linux/security.h>
#include <linux/seq_file.h>
#include <linux/stringify.h>

#include "compat.h"
#include "tunable.h"

atomic64_t tunable_hook_calls[TUNABLE_HOOKS];

bool tunable_active __ro_after_init;

static const char *const tunable_hook_names[TUNABLE_HOOKS] = {
	[TUNABLE_BPRM] = "bprm_creds_for_exec",
	[TUNABLE_INODE_ALLOC] = "inode_alloc_security",
	[TUNABLE_INODE_INIT] = "inode_init_security",
	[TUNABLE_INODE_SETXATTR] = "inode_setxattr",
	[TUNABLE_INODE_GETSECID] = __stringify(TUNABLE_GETSECID),
	[TUNABLE_INODE_CREATE] = "inode_create",
};

static int tunable_delay_get(void *check, u64 *delay_ns)
{
	*delay_ns = READ_ONCE(((struct tunable_check *)check)->delay_ns);
	return 0;
}

static int tunable_delay_set(void *check, u64 delay_ns)
{
	return tunable_check_set(check, delay_ns);
}

DEFINE_SIMPLE_ATTRIBUTE(tunable_delay_fops, tunable_delay_get,
			tunable_delay_set, "%llu\n");

static int tunable_limit_get(void *unused, u64 *limit_ns)
{
	*limit_ns = TUNABLE_LIMIT_NS;
	return 0;
}

DEFINE_SIMPLE_ATTRIBUTE(tunable_limit_fops, tunable_limit_get, NULL, "%llu\n");

static void tunable_check_show(struct seq_file *seq, const char *name,
			       struct tunable_check *check)
{
	seq_printf(seq, "%s_calls %lld\n", name, atomic64_read(&check->calls));
	seq_printf(seq, "%s_waited_ns %lld\n", name,
		   atomic64_read(&check->waited_ns));
}

/*
 * The checks since their delay was set (calls, and the time that all of them
 * took together), and the other hooks' calls since boot.
 */
static int tunable_counts_show(struct seq_file *seq, void *unused)
{
	int hook;

	tunable_check_show(seq, "inode_permission", &tunable_inode_check);
	tunable_check_show(seq, "file_permission", &tunable_file_check);
	for (hook = 0; hook < TUNABLE_HOOKS; hook++)
		seq_printf(seq, "%s_calls %lld\n", tunable_hook_names[hook],
			   atomic64_read(&tunable_hook_calls[hook]));
	return 0;
}

DEFINE_SHOW_ATTRIBUTE(tunable_counts);

static int __init tunable_fs_init(void)
{
	const struct {
		const char *name;
		umode_t mode;
		void *data;
		const struct file_operations *fops;
	} files[] = {
		{ "inode_delay_ns", 0600, &tunable_inode_check,
		  &tunable_delay_fops },
		{ "file_delay_ns", 0600, &tunable_file_check,
		  &tunable_delay_fops },
		{ "limit_ns", 0400, NULL, &tunable_limit_fops },
		{ "counts", 0400, NULL, &tunable_counts_fops },
	};
	struct dentry *dir, *file;
	int i;

	if (!tunable_active)
		return 0;
	dir = securityfs_create_dir(TUNABLE_NAME, NULL);
	if (IS_ERR(dir))
		return PTR_ERR(dir);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		file = securityfs_create_file(files[i].name, files[i].mode, dir,
					      files[i].data, files[i].fops);
		if (IS_ERR(file))
			return PTR_ERR(file);
	}
	return 0;
}
fs_initcall(tunable_fs_init);
