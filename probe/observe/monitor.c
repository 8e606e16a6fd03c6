// SPDX-License-Identifier: GPL-2.0-or-later
#include "observe/monitor.h"

#include "arch/sys.h"
#include "observe/processes.h"
#include "protocol/channel.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is kept of one source at one moment: with its envelope it fits into a line. */
#define SOURCE_BYTES 4000
#define BATCH_BYTES  (4 << 20)
#define FILE_BYTES   32768
#define MAX_KNOWN    128 /* processes */
#define ALL	     64	 /* words of a line */
#define READS	     3	 /* words of a line of /proc/diskstats, from 0 */
#define WRITES	     7
/* What takes long, and is asked for at begins and ends, and then no more often. */
#define SLOW_NS 500000000

/* Lines that begin with one of the words of `keep` (NULL: all), and of each the first `words`. */
static const struct source {
	const char *name, *path;
	const char *const *keep;
	unsigned int skip_lines, words;
	bool skip_unused; /* disks that nothing was read from or written to */
	bool slow;
} sources[] = {
	{.name = "stat",
	 .path = "/proc/stat",
	 .keep = (const char *const[]){"cpu", "ctxt", "intr", "processes", "procs_running",
				       "procs_blocked", NULL},
	 .words = 11},
	{.name = "meminfo",
	 .path = "/proc/meminfo",
	 .keep = (const char *const[]){"MemTotal:", "MemFree:", "MemAvailable:", "Buffers:",
				       "Cached:", "SwapCached:", "Active:", "Inactive:",
				       "SwapTotal:", "SwapFree:", "Dirty:", "AnonPages:", "Shmem:",
				       "Slab:", NULL},
	 .words = 2},
	{.name = "vmstat",
	 .path = "/proc/vmstat",
	 .keep = (const char *const[]){"pgpgin", "pgpgout", "pswpin", "pswpout", "pgfault",
				       "pgmajfault", NULL},
	 .words = 2,
	 .slow = true},
	{.name = "disks", .path = "/proc/diskstats", .words = 14, .skip_unused = true},
	{.name = "net", .path = "/proc/net/dev", .skip_lines = 2, .words = 17},
	{.name = "avc", .path = "/sys/fs/selinux/avc/cache_stats", .words = 6},
};

#define SOURCES (sizeof(sources) / sizeof(sources[0]))

/* One moment as it lies in the buffer: this, then for each source and the processes its text. */
struct moment {
	uint64_t time_ns;
	enum moment_when when;
	unsigned int lost; /* moments before it for which there was no room */
};

struct monitor {
	int fd[SOURCES];
	size_t used; /* of the buffer */
	unsigned int moments, lost;
	unsigned long every_ns;
	uint64_t next_ns, slow_ns; /* when the next moment is due, and the last slow one was */
	unsigned int known[MAX_KNOWN], n_known;
	char file_text[FILE_BYTES];
	char buffer[BATCH_BYTES];
};

static void find_network(struct monitor *monitor, const char *process)
{
	unsigned int first = processes_first(process);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/net/dev", first);
	for (size_t i = 0; i < SOURCES; i++) {
		if (first && !strcmp(sources[i].name, "net"))
			monitor->fd[i] = open(path, O_RDONLY | O_CLOEXEC);
	}
}

struct monitor *monitor_open(unsigned long every_ms, const char *process)
{
	struct monitor *monitor = malloc(sizeof(*monitor));

	if (!monitor)
		return NULL;
	/* No page of it is to be found while a batch runs. */
	memset(monitor, 1, sizeof(*monitor));
	monitor->every_ns = every_ms * 1000000;
	monitor->slow_ns = 0;
	for (size_t i = 0; i < SOURCES; i++)
		monitor->fd[i] = open(sources[i].path, O_RDONLY | O_CLOEXEC);
	find_network(monitor, process);
	return monitor;
}

/* Read a file from its beginning to a NUL; false if there is nothing. */
static bool read_whole(int fd, char *text, size_t size)
{
	size_t done = 0;
	ssize_t n = 0;

	while (done < size - 1 && (n = pread(fd, text + done, size - 1 - done, (off_t)done)) > 0)
		done += (size_t)n;
	text[done] = '\0';
	return done;
}

/* Does a word of a line begin here that is one of those to keep? */
static bool kept(const struct source *source, const char *line)
{
	if (!source->keep)
		return true;
	for (const char *const *word = source->keep; *word; word++) {
		size_t i = 0;

		while ((*word)[i] && (*word)[i] == line[i])
			i++;
		if (!(*word)[i] && line[i] == ' ')
			return true;
	}
	return false;
}

/* Is word `n` of a line, from 0, a zero? */
static bool is_zero(const char *line, unsigned int n)
{
	line += strspn(line, " ");
	while (n--) {
		line += strcspn(line, " \n");
		line += strspn(line, " ");
	}
	return line[0] == '0' && (line[1] == ' ' || line[1] == '\n');
}

/* What may stand in a word that is sent; anything else is shown as _. */
static char in_word(char c)
{
	bool alone = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		     (c >= '(' && c <= '/' && c != '*' && c != ',') || c == ':';

	return alone ? c : '_';
}

/* Append a line's first words with commas between, then a semicolon; 0 if they have no room. */
static size_t squeeze(const char *line, unsigned int words, char *to, size_t room)
{
	size_t size = 0;

	while (words--) {
		while (*line == ' ' || *line == '\t')
			line++;
		if (!*line || *line == '\n')
			break;
		if (size)
			to[size++] = ',';
		while (*line && *line != ' ' && *line != '\t' && *line != '\n' && size + 2 < room)
			to[size++] = in_word(*line++);
		if (size + 2 >= room)
			return 0; /* a part of a line is none */
	}
	if (size)
		to[size++] = ';';
	return size;
}

/* Append what is kept of a source, and a NUL. */
static void take_source(struct monitor *monitor, size_t at)
{
	const struct source *source = &sources[at];
	char *to = monitor->buffer + monitor->used;
	unsigned int skip = source->skip_lines;
	size_t size = 0;

	if (monitor->fd[at] >= 0 &&
	    read_whole(monitor->fd[at], monitor->file_text, sizeof(monitor->file_text))) {
		for (const char *line = monitor->file_text; *line; line++) {
			bool wanted = !skip && kept(source, line);

			skip -= skip > 0;
			if (wanted && source->skip_unused)
				wanted = !is_zero(line, READS) || !is_zero(line, WRITES);
			if (wanted)
				size += squeeze(line, source->words, to + size,
						SOURCE_BYTES - size);
			line += strcspn(line, "\n");
			if (!*line)
				break;
		}
	}
	to[size] = '\0';
	monitor->used += size + 1;
}

/* A process that has a memory of its own, and is not the first one. */
static bool is_program(unsigned int process)
{
	struct processes_usage usage;

	return process != 1 && processes_usage(process, &usage) && usage.vsize_bytes;
}

static void find_processes(struct monitor *monitor)
{
	DIR *proc = opendir("/proc");

	monitor->n_known = 0;
	if (!proc)
		return;
	for (struct dirent *entry; (entry = readdir(proc)) && monitor->n_known < MAX_KNOWN;) {
		unsigned int process = (unsigned int)strtoul(entry->d_name, NULL, 10);

		if (is_program(process))
			monitor->known[monitor->n_known++] = process;
	}
	closedir(proc);
}

static void take_processes(struct monitor *monitor)
{
	char *to = monitor->buffer + monitor->used;
	size_t size = 0;

	for (unsigned int i = 0; i < monitor->n_known; i++) {
		unsigned int process = monitor->known[i];
		struct processes_usage usage;
		char line[300];

		if (!processes_usage(process, &usage))
			continue;
		/* A name's blanks are no ends of words. */
		for (char *c = usage.name; *c; c++)
			*c = in_word(*c);
		snprintf(line, sizeof(line), "%u %lu %lu %lu %lu %u %lu %lu %s", process,
			 usage.user_ticks, usage.system_ticks, usage.minor_faults,
			 usage.major_faults, usage.threads, usage.vsize_bytes, usage.rss_pages,
			 usage.name);
		size += squeeze(line, ALL, to + size, SOURCE_BYTES - size);
	}
	to[size] = '\0';
	monitor->used += size + 1;
}

static void take(struct monitor *monitor, enum moment_when when)
{
	size_t most = sizeof(struct moment) + (SOURCES + 1) * (SOURCE_BYTES + 1);
	/* The end of a batch has its room. */
	size_t reserved = when == MOMENT_END ? 0 : most;
	struct moment moment = {now_ns(), when, monitor->lost};
	bool slow = when != MOMENT_WITHIN || moment.time_ns - monitor->slow_ns >= SLOW_NS;

	if (monitor->used + most + reserved > BATCH_BYTES ||
	    (reserved && monitor->moments + 1 >= MAX_MOMENTS)) {
		monitor->lost++;
		return;
	}
	memcpy(monitor->buffer + monitor->used, &moment, sizeof(moment));
	monitor->used += sizeof(moment);
	for (size_t i = 0; i < SOURCES; i++) {
		if (slow || !sources[i].slow)
			take_source(monitor, i);
		else
			monitor->buffer[monitor->used++] = '\0';
	}
	if (slow) {
		monitor->slow_ns = moment.time_ns;
		take_processes(monitor);
	} else {
		monitor->buffer[monitor->used++] = '\0';
	}
	monitor->moments++;
	monitor->lost = 0;
}

void monitor_batch(struct monitor *monitor, enum moment_when when)
{
	if (when == MOMENT_BEGIN) {
		/* This takes far longer than a moment: not while a batch runs. */
		find_processes(monitor);
		monitor->used = 0;
		monitor->moments = monitor->lost = 0;
	}
	take(monitor, when);
	monitor->next_ns = now_ns() + monitor->every_ns;
}

void monitor_wake(struct monitor *monitor, struct timespec *left)
{
	uint64_t now = now_ns(), every_ns = monitor->every_ns, wait_ns;

	if (now >= monitor->next_ns) {
		take(monitor, MOMENT_WITHIN);
		now = now_ns();
		/* What is late is left out. */
		monitor->next_ns += (now - monitor->next_ns) / every_ns * every_ns + every_ns;
	}
	wait_ns = monitor->next_ns - now;
	if (wait_ns < (uint64_t)left->tv_sec * 1000000000 + (uint64_t)left->tv_nsec)
		*left = (struct timespec){(time_t)(wait_ns / 1000000000),
					  (long)(wait_ns % 1000000000)};
}

void monitor_send(const struct monitor *monitor, unsigned int index, unsigned int batch)
{
	static const char *const when[] = {"begin", "within", "end"};
	const char *at = monitor->buffer;

	while (at < monitor->buffer + monitor->used) {
		struct moment moment;

		memcpy(&moment, at, sizeof(moment));
		at += sizeof(moment);
		channel_moment(index, batch, when[moment.when], moment.time_ns, moment.lost);
		for (size_t i = 0; i <= SOURCES; i++) {
			if (*at)
				channel_seen(index, i < SOURCES ? sources[i].name : "processes",
					     at);
			at += strlen(at) + 1;
		}
	}
}
