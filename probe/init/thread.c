// SPDX-License-Identifier: GPL-2.0-or-later
#include "init/thread.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The thread of the kernel, child of kthreadd (process 2), that has this name; 0 if none does. */
static pid_t find_thread(const char *name)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0;

	while (processes && !found && (entry = readdir(processes))) {
		char path[300], comm[64] = "";
		int parent = 0;
		FILE *file;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (fscanf(file, "%*d (%63[^)]) %*c %d", comm, &parent) == 2 && parent == 2 &&
		    !strcmp(comm, name))
			found = (pid_t)strtol(entry->d_name, NULL, 10);
		fclose(file);
	}
	if (processes)
		closedir(processes);
	return found;
}

const char *thread_to_background(const char *name)
{
	const struct sched_param none = {0};
	pid_t thread = find_thread(name);

	errno = ESRCH;
	if (!thread)
		return "finding the kernel's thread";
	return sched_setscheduler(thread, SCHED_IDLE, &none) ? "putting behind all others" : NULL;
}
