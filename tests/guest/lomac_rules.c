// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first program of a guest that tries every rule of LOMAC, each in a process of its own, and
 * says of each what it should give and what it gave: NAME WANTED GOT. Without the argument
 * `lomac` on the kernel's command line the programs are not loaded: then nothing may be denied.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <unistd.h>

#define HIGH "/data/high"
#define LOW  "/data/low"

static int result(long value)
{
	return value < 0 ? errno : 0;
}

static int write_to(const char *path, int flags)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0644);
	int error = result(fd);

	if (!error && write(fd, "x", 1) != 1)
		error = errno;
	if (fd >= 0)
		close(fd);
	return error;
}

static int read_from(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int error = result(fd);
	char byte;

	if (!error)
		error = result(read(fd, &byte, 1));
	if (fd >= 0)
		close(fd);
	return error;
}

/* Become low, as the rules that follow want it. */
static void fall(void)
{
	if (read_from(LOW "/file"))
		_exit(100);
}

static int in_child(int (*rule)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(rule());
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 101;
}

static int write_high(void)
{
	return write_to(HIGH "/file", 0);
}

static int write_low(void)
{
	return write_to(LOW "/file", 0);
}

static int read_high(void)
{
	return read_from(HIGH "/file");
}

static int low_writes_high(void)
{
	fall();
	return write_high();
}

static int low_writes_low(void)
{
	fall();
	return write_low();
}

static int low_reads_high(void)
{
	fall();
	return read_high();
}

static int stays_high_by_reading_high(void)
{
	return read_high() ? 100 : write_high();
}

static int stays_high_by_writing_low(void)
{
	return write_low() ? 100 : write_high();
}

static int stays_high_by_opening_low(void)
{
	int fd = open(LOW "/file", O_RDONLY);

	return fd < 0 ? 100 : write_high();
}

static int open_before_falling(void)
{
	int fd = open(HIGH "/file", O_WRONLY);

	if (fd < 0)
		return 100;
	fall();
	return result(write(fd, "x", 1));
}

static int fork_inherits(void)
{
	fall();
	return in_child(write_high);
}

static int fork_before_falling(void)
{
	int gate[2], status;
	pid_t child;

	if (pipe(gate))
		return 100;
	child = fork();
	if (child == 0) {
		char byte;

		close(gate[1]);
		(void)!read(gate[0], &byte, 1);
		_exit(write_high());
	}
	fall();
	close(gate[0]);
	close(gate[1]);
	return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 101;
}

static int child_falls(void)
{
	return in_child(low_writes_low) ? 100 : write_high();
}

static void *fall_in_thread(void *unused)
{
	fall();
	return unused;
}

static int thread_falls(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, fall_in_thread, NULL) || pthread_join(thread, NULL))
		return 100;
	return write_high();
}

static void run_self(const char *path, const char *what)
{
	char *const words[] = {(char *)path, (char *)what, NULL};
	char *const environment[] = {NULL};

	execve(path, words, environment);
}

static int exec_keeps_low(void)
{
	fall();
	run_self("/init", "write-high");
	return 100;
}

static int exec_keeps_high(void)
{
	run_self("/init", "write-high");
	return 100;
}

static int exec_of_low(void)
{
	run_self(LOW "/program", "write-high");
	return 100;
}

static void *exec_in_thread(void *unused)
{
	run_self("/init", "write-high");
	return unused;
}

static int exec_in_thread_keeps_low(void)
{
	pthread_t thread;

	fall();
	if (pthread_create(&thread, NULL, exec_in_thread, NULL))
		return 100;
	pthread_join(thread, NULL);
	return 100;
}

static int mapping_low(void)
{
	int fd = open(LOW "/file", O_RDONLY);

	if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return 100;
	return write_high();
}

static int listing_low(void)
{
	char names[512];
	int fd = open(LOW, O_RDONLY | O_DIRECTORY);

	if (getdents64(fd, names, sizeof(names)) <= 0)
		return 100;
	return write_high();
}

static int following_low_link(void)
{
	return read_from(LOW "/link") ? 100 : write_high();
}

static int reading_low_link(void)
{
	char target[64];

	return readlink(LOW "/link", target, sizeof(target)) < 0 ? 100 : write_high();
}

static int low_maps_high_shared(void)
{
	int fd = open(HIGH "/file", O_RDWR);

	fall();
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? errno
											 : 0;
}

static int low_makes_mapping_writable(void)
{
	int fd = open(HIGH "/file", O_RDWR);
	void *area = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	fall();
	return result(mprotect(area, 4096, PROT_READ | PROT_WRITE));
}

static int low_maps_high_private(void)
{
	int fd = open(HIGH "/file", O_RDONLY);

	fall();
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0) == MAP_FAILED ? errno
											  : 0;
}

#include "lomac_changes.h"

static int pipes_pass(void)
{
	int ends[2];

	fall();
	return pipe(ends) ? 100 : result(write(ends[1], "x", 1));
}

static int null_passes(void)
{
	fall();
	return write_to("/dev/null", 0);
}

static int new_mount_is_low(void)
{
	return read_from("/late/file") ? 100 : write_high();
}

static int beneath_low_is_low(void)
{
	return read_from(LOW "/deep/deeper/file") ? 100 : write_high();
}

static int high_beneath_low(void)
{
	return read_from(LOW "/kept/file") ? 100 : write_high();
}

static int low_writes_high_beneath_low(void)
{
	fall();
	return write_to(LOW "/kept/file", 0);
}

static int moved_files_follow(void)
{
	/* The next opening decides, not what was saved before. */
	if (read_from(HIGH "/file2") || rename(HIGH "/file2", LOW "/new") || read_from(LOW "/new"))
		return 100;
	return write_high();
}

static const struct {
	const char *name;
	int wanted;
	int (*rule)(void);
} rules[] = {
	{"high-writes-high", 0, write_high},
	{"high-writes-low", 0, write_low},
	{"low-writes-high", EACCES, low_writes_high},
	{"low-writes-low", 0, low_writes_low},
	{"low-reads-high", 0, low_reads_high},
	{"fresh-process-is-high", 0, write_high},
	{"reading-high-keeps-high", 0, stays_high_by_reading_high},
	{"writing-low-keeps-high", 0, stays_high_by_writing_low},
	{"opening-low-keeps-high", 0, stays_high_by_opening_low},
	{"open-before-falling", EACCES, open_before_falling},
	{"fork-inherits", EACCES, fork_inherits},
	{"fork-before-falling", 0, fork_before_falling},
	{"child-falls-alone", 0, child_falls},
	{"thread-falls-for-all", EACCES, thread_falls},
	{"exec-keeps-low", EACCES, exec_keeps_low},
	{"exec-keeps-high", 0, exec_keeps_high},
	{"exec-of-low-falls", EACCES, exec_of_low},
	{"exec-in-thread-keeps-low", EACCES, exec_in_thread_keeps_low},
	{"mapping-low-falls", EACCES, mapping_low},
	{"listing-low-falls", EACCES, listing_low},
	{"following-low-link-falls", EACCES, following_low_link},
	{"reading-low-link-falls", EACCES, reading_low_link},
	{"low-maps-high-shared", EACCES, low_maps_high_shared},
	{"low-makes-mapping-writable", EACCES, low_makes_mapping_writable},
	{"low-maps-high-private", 0, low_maps_high_private},
	{"low-links-high-into-low", EACCES, low_links_high_into_low},
	{"low-moves-high-into-low", EACCES, low_moves_high_into_low},
	{"low-moves-low-into-high", EACCES, low_moves_low_into_high},
	{"low-swaps-low-and-high", EACCES, low_swaps},
	{"low-moves-low-directory-aside", EACCES, low_moves_low_aside},
	{"pipes-pass", 0, pipes_pass},
	{"null-passes", 0, null_passes},
	{"later-mount-is-low", EACCES, new_mount_is_low},
	{"beneath-low-is-low", EACCES, beneath_low_is_low},
	{"high-beneath-low-is-high", 0, high_beneath_low},
	{"low-writes-high-beneath-low", EACCES, low_writes_high_beneath_low},
	{"moved-files-follow", EACCES, moved_files_follow},
};

static void say(FILE *port, bool loaded, const char *name, int wanted, int got)
{
	fprintf(port, "%s %s %s\n", name, strerrorname_np(loaded ? wanted : 0),
		got < 100 ? strerrorname_np(got) : "broken");
}

static void copy(const char *from, const char *to)
{
	static char data[1 << 22];
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT, 0755);
	ssize_t n = read(in, data, sizeof(data));

	(void)!write(out, data, (size_t)n);
	close(in);
	close(out);
}

static int load(void)
{
	static char *const words[] = {"/setup/lsmeter-bpf", "lomac", "/=high", "/data/low=low",
				      "/data/low/kept=high", NULL};
	char *const environment[] = {NULL};
	int status;
	pid_t child = fork();

	if (child == 0) {
		dup2(open("/dev/console", O_WRONLY), STDERR_FILENO);
		execve(words[0], words, environment);
		_exit(127);
	}
	return waitpid(child, &status, 0) == child ? status : -1;
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

static void make_files(void)
{
	mount("none", "/dev", "devtmpfs", 0, "");
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/data", 0755);
	mkdir("/late", 0755);
	mount("none", "/proc", "proc", 0, "");
	mount("none", "/sys", "sysfs", 0, "");
	mount("none", "/data", "tmpfs", 0, "");
	prepare(HIGH);
	prepare(LOW);
	mkdir(LOW "/deep", 0755);
	mkdir(LOW "/deep/deeper", 0755);
	mkdir(LOW "/kept", 0755);
	copy("/init", LOW "/program");
	write_to(LOW "/deep/deeper/file", O_CREAT);
	write_to(LOW "/kept/file", O_CREAT);
}

static void try_all(FILE *port, bool loaded)
{
	char name[96];

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		prepare(HIGH);
		prepare(LOW);
		say(port, loaded, rules[i].name, rules[i].wanted, in_child(rules[i].rule));
		rename("/data/aside", LOW);
	}
	for (size_t i = 0; i < 3 * sizeof(changes) / sizeof(*changes); i++) {
		now_change = changes[i / 3];
		now_top = i % 3 == 1 ? LOW : HIGH;
		prepare(now_top);
		snprintf(name, sizeof(name), "%s-%s-%s", i % 3 == 2 ? "high" : "low", now_change,
			 now_top + sizeof("/data"));
		say(port, loaded, name, i % 3 == 0 ? EACCES : 0,
		    in_child(i % 3 == 2 ? high_changes : low_changes));
	}
}

int main(int argc, char **argv)
{
	bool loaded;
	FILE *port;

	if (argc == 2 && !strcmp(argv[1], "write-high"))
		return write_high();
	make_files();
	port = open_port();
	/* What the kernel does not know on its command line it hands to the first program. */
	loaded = getenv("lomac") != NULL;
	if (loaded && load()) {
		fprintf(port, "not-loaded 0 broken\n");
	} else {
		mount("none", "/late", "tmpfs", 0, "");
		write_to("/late/file", O_CREAT);
		try_all(port, loaded);
	}
	fprintf(port, "end 0 0\n");
	fflush(port);
	tcdrain(fileno(port));
	reboot(RB_AUTOBOOT);
}
