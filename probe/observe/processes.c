// SPDX-License-Identifier: GPL-2.0-or-later
#include "observe/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_CONTEXTS  32
#define CONTEXT_BYTES 256
#define NAMESPACE     "/run/netns/server"

/* Read a file of a process; "" if that cannot be. */
static void read_of(const char *process, const char *file, char *text, size_t size)
{
	char path[300];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/%s", process, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
}

/* Has a living process this name? /proc/PID/stat is: PID (NAME) STATE ... */
static bool is_named(const char *process, const char *name)
{
	char stat[256], *begin, *end;

	read_of(process, "stat", stat, sizeof(stat));
	begin = strchr(stat, '(');
	end = strrchr(stat, ')');
	if (!begin || !end || strlen(end) < 3 || strchr("ZX", end[2]))
		return false;
	*end = '\0';
	return !strcmp(begin + 1, name);
}

/* Is it a service, or of one? */
static bool is_served(const char *process)
{
	struct stat services, its;
	char path[300];

	snprintf(path, sizeof(path), "/proc/%s/ns/net", process);
	return !stat(NAMESPACE, &services) && !stat(path, &its) && services.st_ino == its.st_ino;
}

/* Give each process of this name to `take`; without a name, each in the services' namespace. */
static void each(const char *name, void (*take)(const char *process, void *to), void *to)
{
	DIR *proc = opendir("/proc");

	if (!proc)
		return;
	for (struct dirent *entry; (entry = readdir(proc));) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    (name ? is_named(entry->d_name, name) : is_served(entry->d_name)))
			take(entry->d_name, to);
	}
	closedir(proc);
}

static void count_one(const char *process, void *to)
{
	(void)process;
	++*(unsigned int *)to;
}

unsigned int processes_count(const char *name)
{
	unsigned int count = 0;

	each(name, count_one, &count);
	return count;
}

static void keep_first(const char *process, void *to)
{
	unsigned int *first = to;

	if (!*first)
		*first = (unsigned int)strtoul(process, NULL, 10);
}

unsigned int processes_first(const char *name)
{
	unsigned int first = 0;

	each(name, keep_first, &first);
	return first;
}

bool processes_usage(unsigned int process, struct processes_usage *usage)
{
	char number[16], stat[512], *begin, *end;

	snprintf(number, sizeof(number), "%u", process);
	read_of(number, "stat", stat, sizeof(stat));
	begin = strchr(stat, '(');
	end = strrchr(stat, ')');
	if (!begin || !end)
		return false;
	*end = '\0';
	snprintf(usage->name, sizeof(usage->name), "%s", begin + 1);
	/* state ppid pgrp session tty_nr tpgid flags, then minflt cminflt majflt cmajflt utime
	 * stime, cutime cstime priority nice, num_threads, itrealvalue starttime, vsize rss */
	return sscanf(end + 1,
		      " %*c %*d %*d %*d %*d %*d %*u %lu %*u %lu %*u %lu %lu %*d %*d %*d %*d %u "
		      "%*d %*u %lu %lu",
		      &usage->minor_faults, &usage->major_faults, &usage->user_ticks,
		      &usage->system_ticks, &usage->threads, &usage->vsize_bytes,
		      &usage->rss_pages) == 7;
}

struct contexts {
	size_t count;
	bool more;
	char text[MAX_CONTEXTS][CONTEXT_BYTES];
};

static void add_context(const char *process, void *to)
{
	struct contexts *contexts = to;
	char text[CONTEXT_BYTES];

	read_of(process, "attr/current", text, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	for (size_t i = 0; i < contexts->count; i++) {
		if (!strcmp(contexts->text[i], text))
			return;
	}
	contexts->more = contexts->count == MAX_CONTEXTS;
	if (!contexts->more)
		strcpy(contexts->text[contexts->count++], text);
}

static int ascending(const void *a, const void *b)
{
	return strcmp(a, b);
}

void processes_contexts(const char *name, char *text, size_t size)
{
	static struct contexts contexts;
	size_t used = 0;

	contexts.count = 0;
	contexts.more = false;
	each(name, add_context, &contexts);
	qsort(contexts.text, contexts.count, sizeof(contexts.text[0]), ascending);
	*text = '\0';
	for (size_t i = 0; i < contexts.count; i++) {
		const char *comma = i ? "," : "";

		if (used + strlen(contexts.text[i]) + sizeof(",,...") > size) {
			contexts.more = true;
			break;
		}
		used += (size_t)sprintf(text + used, "%s%s", comma, contexts.text[i]);
	}
	if (contexts.more)
		strcpy(text + used, ",...");
}
