// SPDX-License-Identifier: GPL-2.0-or-later
#include "hold.h"

#include "bench.h"
#include "datagrams.h"
#include "names.h"
#include "sys.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define MOST_FILES 8192

/* Pages that are kept stand among so many that are given back. */
#define PAGES	   4096
#define EVERY	   16
#define PIPE_PAGES 256
#define PAGE_BYTES 4096

/*
 * Leave free pages of each size up to 8 together, as in a kernel that has been up for a while: in
 * one that has just started a search for two pages ends sooner or later by chance, 4 instructions
 * each time.
 */
static int wear_pages(void)
{
	static const char page[PAGE_BYTES];
	int ends[PAGES / PIPE_PAGES + 1][2], kept = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		if (pipe(ends[i]) ||
		    sys4(SYS_fcntl, ends[i][1], F_SETPIPE_SZ, PIPE_PAGES * PAGE_BYTES, 0) < 0)
			return -errno;
	}
	for (int i = 0; i < PAGES; i++) {
		bool keeps = i % EVERY == 0;
		int to = ends[keeps ? 0 : 1 + i / PIPE_PAGES][1];

		if (sys_write(to, page, PAGE_BYTES) != PAGE_BYTES)
			return -ENOSPC;
		kept += keeps;
	}
	for (size_t i = 1; i < ARRAY_SIZE(ends); i++) {
		close(ends[i][0]);
		close(ends[i][1]);
	}
	return kept;
}

static _Noreturn void hold(int answer, bool beyond_files)
{
	const struct rlimit many = {.rlim_cur = MOST_FILES, .rlim_max = MOST_FILES};
	struct held held = {0};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	held.pages = wear_pages();
	held.names = names_hold_first_pages();
	setrlimit(RLIMIT_NOFILE, &many);
	held.datagrams = datagrams_open();
	if (beyond_files)
		held.sockets = sockets_hold();
	if (!held.datagrams)
		held.datagrams = datagrams_hold();
	if (write(answer, &held, sizeof(held)) != sizeof(held))
		_exit(1);
	close(answer);
	for (;;)
		pause();
}

struct held hold_begin(bool beyond_files)
{
	static const struct held failed = {-EIO, -EIO, -EIO, -EIO};
	struct held held = failed;
	int ends[2];
	pid_t pid;

	if (pipe(ends))
		return held;
	pid = fork();
	if (pid == 0)
		hold(ends[1], beyond_files);
	close(ends[1]);
	if (pid < 0 || read(ends[0], &held, sizeof(held)) != sizeof(held))
		held = failed;
	close(ends[0]);
	return held;
}
