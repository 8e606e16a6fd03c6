// SPDX-License-Identifier: GPL-2.0-or-later
#include "init/facts.h"

#include "arch/sys.h"
#include "policy/audit.h"
#include "policy/landlock.h"
#include "policy/tomoyo.h"
#include "protocol/channel.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define SECURITY "/sys/kernel/security/"

/* The file's first `size` - 1 bytes without a last newline; -errno if it cannot be read. */
static long slurp(const char *path, char *text, size_t size)
{
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	long n, got = 0;

	if (fd < 0)
		return fd;
	do {
		n = sys4(SYS_read, fd, (long)(text + got), (long)size - 1 - got, 0);
		got += n > 0 ? n : 0;
	} while (n > 0 && got < (long)size - 1);
	sys_close(fd);
	if (n < 0)
		return n;
	if (got && text[got - 1] == '\n')
		got--;
	text[got] = '\0';
	return got;
}

/* Send the file's content as a fact; a file that is not there is no fact. */
static void file_fact(const char *key, const char *path)
{
	char text[1024];

	if (slurp(path, text, sizeof(text)) >= 0)
		channel_fact(key, "%s", text);
}

/*
 * Send how many lines of the file contain `sign` (all lines, if that is ""), and return that;
 * -1 without a fact if there is no such file.
 */
static int count_fact(const char *key, const char *path, const char *sign)
{
	FILE *file = fopen(path, "re");
	int count = 0;
	char line[1024];

	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file))
		count += strstr(line, sign) != NULL;
	fclose(file);
	channel_fact(key, "%d", count);
	return count;
}

/* Is `name` one of the comma-separated names in `list`? */
static int listed(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		if (!strncmp(at, name, n) && (at[n] == ',' || !at[n]))
			return 1;
	}
	return 0;
}

/* How many entries the directory has whose names do not begin with a dot; -1 without a fact. */
static int entries_fact(const char *key, const char *path)
{
	DIR *directory = opendir(path);
	int count = 0;

	if (!directory)
		return -1;
	for (struct dirent *entry; (entry = readdir(directory));)
		count += entry->d_name[0] != '.';
	closedir(directory);
	channel_fact(key, "%d", count);
	return count;
}

/* The version of the loaded policy stands behind a magic number and a counted string. */
static void selinux_policy_version(void)
{
	int fd = sys_open("/sys/fs/selinux/policy", O_RDONLY | O_CLOEXEC, 0);
	uint32_t head[2], version;

	if (fd < 0)
		return;
	if (pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	    pread(fd, &version, sizeof(version), (off_t)(sizeof(head) + head[1])) ==
		    (ssize_t)sizeof(version))
		channel_fact("selinux.policy_version", "%u", version);
	sys_close(fd);
}

static void selinux_facts(void)
{
	int classes;

	/* A step of the setup may have mounted it. */
	if (mount("selinuxfs", "/sys/fs/selinux", "selinuxfs", 0, NULL) && errno != EBUSY &&
	    access("/sys/fs/selinux/enforce", F_OK))
		return;
	file_fact("selinux.enforce", "/sys/fs/selinux/enforce");
	file_fact("selinux.policyvers", "/sys/fs/selinux/policyvers");
	file_fact("selinux.avc_threshold", "/sys/fs/selinux/avc/cache_threshold");
	/* The status page counts policies only from its first reader on; classes come with one. */
	classes = entries_fact("selinux.classes", "/sys/fs/selinux/class");
	if (classes < 0)
		return;
	channel_fact("selinux.policy_loaded", "%d", classes > 0);
	if (!classes)
		return;
	selinux_policy_version();
	entries_fact("selinux.booleans", "/sys/fs/selinux/booleans");
}

static void smack_facts(void)
{
	if (mount("smackfs", "/sys/fs/smackfs", "smackfs", 0, NULL) && errno != EBUSY)
		return;
	file_fact("smack.label", "/proc/self/attr/current");
	count_fact("smack.rules", "/sys/fs/smackfs/load2", "");
}

static void lockdown_fact(void)
{
	char text[128];
	char *begin, *end;

	if (slurp(SECURITY "lockdown", text, sizeof(text)) < 0)
		return;
	begin = strchr(text, '[');
	end = begin ? strchr(begin, ']') : NULL;
	if (!end)
		return;
	*end = '\0';
	channel_fact("lockdown", "%s", begin + 1);
}

/*
 * What IMA measured in the directory that integrity setups make for their enforcement checks. A
 * line is: PCR, hash of the line, template, ALGORITHM:DIGEST, path, and more by template.
 */
static void measured_facts(void)
{
	static const char sign[] = " /data/integrity/";
	FILE *list = fopen(SECURITY "ima/ascii_runtime_measurements", "re");
	char line[1024], key[64], *path, *digest;

	if (!list)
		return;
	while (fgets(line, sizeof(line), list)) {
		path = strstr(line, sign);
		if (!path)
			continue;
		*path = '\0';
		path += strlen(sign);
		digest = strrchr(line, ' ');
		snprintf(key, sizeof(key), "ima.file.%.*s", (int)strcspn(path, " \n"), path);
		channel_fact(key, "%s", digest ? digest + 1 : line);
	}
	fclose(list);
}

static void integrity_facts(void)
{
	file_fact("ima.measurements", SECURITY "ima/runtime_measurements_count");
	file_fact("ima.violations", SECURITY "ima/violations");
	/* Only kernels that let policies be read have it. */
	count_fact("ima.rules", SECURITY "ima/policy", " ");
	measured_facts();
	file_fact("evm", SECURITY "evm");
}

static void module_facts(void)
{
	char list[512] = "";

	if (slurp(SECURITY "lsm", list, sizeof(list)) >= 0)
		channel_fact("lsm", "%s", list);
	if (listed(list, "selinux"))
		selinux_facts();
	if (listed(list, "smack"))
		smack_facts();
	file_fact("apparmor.enabled", "/sys/module/apparmor/parameters/enabled");
	count_fact("apparmor.profiles", SECURITY "apparmor/profiles", "");
	tomoyo_facts();
	channel_fact("landlock.abi", "%d", landlock_abi());
	file_fact("yama.ptrace_scope", "/proc/sys/kernel/yama/ptrace_scope");
	lockdown_fact();
	channel_fact("bpf", "%d", listed(list, "bpf"));
	integrity_facts();
	file_fact("loadpin.enforce", "/proc/sys/kernel/loadpin/enforce");
	file_fact("tunable.inode_delay_ns", SECURITY "tunable/inode_delay_ns");
	file_fact("tunable.file_delay_ns", SECURITY "tunable/file_delay_ns");
}

static void mitigation_facts(void)
{
	static const char directory[] = "/sys/devices/system/cpu/vulnerabilities";
	struct dirent **entry;
	char key[300], path[300];
	int n = scandir(directory, &entry, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		if (entry[i]->d_name[0] == '.')
			continue;
		snprintf(key, sizeof(key), "mitigations.%s", entry[i]->d_name);
		snprintf(path, sizeof(path), "%s/%s", directory, entry[i]->d_name);
		file_fact(key, path);
	}
}

static void cpu_fact(void)
{
	char model[CPU_MODEL_BYTES];

	if (arch_cpu_model(model))
		channel_fact("cpu.model", "%s", model);
}

static void machine_facts(void)
{
	char text[256];
	struct timespec tick;

	cpu_fact();
	file_fact("clocksource",
		  "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	if (slurp("/proc/meminfo", text, sizeof(text)) > 0 && strchr(text, '\n')) {
		*strchr(text, '\n') = '\0';
		channel_fact("memory.total", "%s", text + strcspn(text, "0123456789"));
	}
	/* The coarse clock moves once a tick. */
	if (!clock_getres(CLOCK_MONOTONIC_COARSE, &tick))
		channel_fact("tick_ns", "%ld", tick.tv_nsec);
}

void facts_send(void)
{
	struct utsname name;

	if (!uname(&name)) {
		channel_fact("kernel.release", "%s", name.release);
		channel_fact("kernel.version", "%s", name.version);
	}
	file_fact("kernel.cmdline", "/proc/cmdline");
	module_facts();
	audit_facts();
	mitigation_facts();
	machine_facts();
}
