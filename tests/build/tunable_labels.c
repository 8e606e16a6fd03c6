// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first program of a guest with the tunable module: tries what its labels promise, and says
 * of each promise what it should give and what it gave: NAME WANTED GOT.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <unistd.h>

#define LABEL	"security.test"
#define PROGRAM "/data/program"
#define POLICY	"/sys/kernel/security/tunable/"

static FILE *port;

static void say(const char *name, const char *wanted, const char *got)
{
	fprintf(port, "%s %s %s\n", name, wanted, got);
}

static const char *reason(long value)
{
	return value < 0 ? strerrorname_np(errno) : "0";
}

/* A label, or the reason why it cannot be read. */
static const char *label_of(const char *path)
{
	static char value[64];
	ssize_t size = getxattr(path, LABEL, value, sizeof(value) - 1);

	if (size < 0)
		return reason(-1);
	value[size] = '\0';
	return size ? value : "empty";
}

static const char *set(const char *path, const char *label)
{
	return reason(setxattr(path, LABEL, label, strlen(label), 0));
}

static void make(const char *path)
{
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
}

/* Run the program with an argument, as a process of its own. */
static void run(const char *what, const char *path)
{
	pid_t child = fork();

	if (!child) {
		execl(PROGRAM, PROGRAM, what, path, NULL);
		_exit(1);
	}
	waitpid(child, NULL, 0);
}

static void write_text(const char *path, const char *text, const char *name, const char *wanted)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	say(name, wanted, reason(fd < 0 ? -1 : write(fd, text, strlen(text))));
	close(fd);
}

static long count_of(const char *name)
{
	char line[128], found[64];
	FILE *file = fopen(POLICY "counts", "re");
	long number, result = -1;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63s %ld", found, &number) == 2 && !strcmp(found, name))
			result = number;
	}
	if (file)
		fclose(file);
	return result;
}

static void try_setting(void)
{
	make("/data/file");
	say("new-file", "ignored", label_of("/data/file"));
	say("set-trusted", "0", set("/data/file", "trusted"));
	say("get-trusted", "trusted", label_of("/data/file"));
	say("set-untrusted", "0", set("/data/file", "untrusted"));
	say("get-untrusted", "untrusted", label_of("/data/file"));
	say("set-unknown", "EINVAL", set("/data/file", "trusty"));
	say("set-longer", "EINVAL", set("/data/file", "trusted-"));
	say("set-nothing", "EINVAL", set("/data/file", ""));
	say("still-untrusted", "untrusted", label_of("/data/file"));
	say("remove", "EACCES", reason(removexattr("/data/file", LABEL)));
	say("not-removed", "untrusted", label_of("/data/file"));
	say("no-attributes", "ignored", label_of("/proc/version"));
}

/* Have a program with a label make something in one way, and look at the label of that. */
static void try_making(const char *label, const char *way)
{
	char name[48], path[64];

	snprintf(name, sizeof(name), "%s-by-%s", way, label);
	snprintf(path, sizeof(path), "/data/%s", name);
	run(way, path);
	say(name, label, label_of(path));
}

static void try_inheriting(void)
{
	static const char *const labels[] = {"trusted", "untrusted", "ignored"};

	for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++) {
		set(PROGRAM, labels[i]);
		try_making(labels[i], "create");
		try_making(labels[i], "fork-create");
		try_making(labels[i], "mkdir");
	}
	make("/data/by-init");
	say("init-keeps-its-label", "ignored", label_of("/data/by-init"));
}

static void try_unprivileged(void)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		if (setuid(1000))
			_exit(1);
		say("user-reads", "untrusted", label_of("/data/file"));
		say("user-sets", "EPERM", set("/data/file", "trusted"));
		fflush(port);
		_exit(0);
	}
	waitpid(child, &status, 0);
	say("user-ran", "0", status ? "1" : "0");
}

static void try_policy(void)
{
	long before = count_of("inode_create_calls");

	make("/data/counted");
	say("creation-is-counted", "1", count_of("inode_create_calls") == before + 1 ? "1" : "0");
	before = count_of("inode_setxattr_calls");
	set("/data/counted", "trusted");
	say("setting-is-counted", "1", count_of("inode_setxattr_calls") == before + 1 ? "1" : "0");
	write_text(POLICY "inode_delay_ns", "10000001", "delay-beyond-limit", "ERANGE");
	write_text(POLICY "file_delay_ns", "10000001", "delay-beyond-limit-file", "ERANGE");
}

static int in_program(const char *what, const char *path)
{
	if (!strcmp(what, "mkdir"))
		return mkdir(path, 0755);
	if (!strcmp(what, "fork-create") && fork()) {
		wait(NULL);
		return 0;
	}
	make(path);
	return 0;
}

static void copy_program(void)
{
	static char bytes[4 << 20];
	int from = open("/init", O_RDONLY | O_CLOEXEC);
	int to = open(PROGRAM, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
	ssize_t size = read(from, bytes, sizeof(bytes));

	if (size <= 0 || write(to, bytes, size) != size)
		say("copy", "0", "broken");
	close(to);
	close(from);
}

static FILE *open_port(void)
{
	int fd = open("/dev/ttyS1", O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct termios raw;

	tcgetattr(fd, &raw);
	cfmakeraw(&raw);
	tcsetattr(fd, TCSANOW, &raw);
	return fdopen(fd, "w");
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return in_program(argv[1], argv[2]);
	mkdir("/data", 0755);
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mount("none", "/dev", "devtmpfs", 0, "");
	mount("none", "/proc", "proc", 0, "");
	mount("none", "/sys", "sysfs", 0, "");
	mount("none", "/sys/kernel/security", "securityfs", 0, "");
	mount("none", "/data", "tmpfs", 0, "mode=0755");
	port = open_port();
	setvbuf(port, NULL, _IOLBF, 0);
	copy_program();
	try_setting();
	try_inheriting();
	try_unprivileged();
	try_policy();
	fprintf(port, "end 0 0\n");
	fflush(port);
	tcdrain(fileno(port));
	reboot(RB_AUTOBOOT);
}
