// SPDX-License-Identifier: GPL-2.0-or-later
#include "layout/slab_pinning.h"

#include "arch/sys.h"
#include "layout/datagrams.h"
#include "layout/path_names.h"
#include "ops/bench.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_FILES 8192

/* Pages that are kept stand among so many that are given back; in the first half closer. */
#define PAGES	   4096
#define EVERY	   16
#define CLOSER	   4
#define KEPT	   (PAGES / 2 / EVERY + PAGES / 2 / CLOSER)
#define PIPE_PAGES 256
#define PAGE_BYTES 4096

/* More processes than any benchmark has at once. */
#define FAMILY 24

/* Those with what is kept come first. */
#define FIRST_GIVEN (KEPT / PIPE_PAGES + 1)
#define PIPES	    (FIRST_GIVEN + (PAGES - KEPT) / PIPE_PAGES + 1)

/*
 * Leave free pages of each size up to 8 together, as in a kernel that has been up for a while: in
 * one that has just started a search for two pages ends sooner or later by chance, 4 instructions
 * each time. Two together are most in use. Pages are taken here; how many are kept, or -errno.
 */
static int take_pages(int (*ends)[2])
{
	static const char page[PAGE_BYTES];
	int kept = 0;

	for (int i = 0; i < PIPES; i++) {
		if (pipe(ends[i]) ||
		    sys4(SYS_fcntl, ends[i][1], F_SETPIPE_SZ, PIPE_PAGES * PAGE_BYTES, 0) < 0)
			return -errno;
	}
	for (int i = 0; i < PAGES; i++) {
		bool keeps = i % (i < PAGES / 2 ? CLOSER : EVERY) == 0;
		int pipe = keeps ? kept / PIPE_PAGES : FIRST_GIVEN + (i - kept) / PIPE_PAGES;

		if (sys_write(ends[pipe][1], page, PAGE_BYTES) != PAGE_BYTES)
			return -ENOSPC;
		kept += keeps;
	}
	return kept;
}

/* The others are given back; what their pipes are made of is not, so that all else is as before. */
static int give_pages_back(int (*ends)[2], int kept)
{
	static char into[PAGE_BYTES];

	for (int i = 0; i < PAGES - kept; i++) {
		int from = ends[FIRST_GIVEN + i / PIPE_PAGES][0];

		if (sys4(SYS_read, from, (long)into, PAGE_BYTES, 0) != PAGE_BYTES)
			return -EIO;
	}
	return kept;
}

static _Noreturn void hold(int answer, enum pinning pinning)
{
	const struct rlimit many = {.rlim_cur = MOST_FILES, .rlim_max = MOST_FILES};
	struct pinned held = {0};
	struct datagram_pairs pairs;
	int ends[PIPES][2];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	held.pages = take_pages(ends);
	held.names = path_names_pin();
	setrlimit(RLIMIT_NOFILE, &many);
	if (pinning >= PINNING_DATAGRAMS)
		held.datagrams = datagrams_open(&pairs);
	if (pinning >= PINNING_SOCKETS)
		held.sockets = sockets_pin();
	if (pinning >= PINNING_DATAGRAMS && !held.datagrams)
		held.datagrams = datagrams_pin(&pairs);
	if (held.pages >= 0)
		held.pages = give_pages_back(ends, held.pages);
	if (write(answer, &held, sizeof(held)) != sizeof(held))
		_exit(1);
	close(answer);
	for (;;)
		pause();
}

struct pinned slab_pinning_start(enum pinning pinning)
{
	static const struct pinned failed = {-EIO, -EIO, -EIO, -EIO};
	struct pinned held = failed;
	int ends[2];
	pid_t pid;

	if (pipe(ends))
		return held;
	pid = fork();
	if (pid == 0)
		hold(ends[1], pinning);
	close(ends[1]);
	if (pid < 0 || read(ends[0], &held, sizeof(held)) != sizeof(held))
		held = failed;
	close(ends[0]);
	return held;
}

void page_owners_settle(void)
{
	pid_t member[FAMILY];
	int ends[2];
	char byte;

	if (pipe(ends))
		return;
	for (int i = 0; i < FAMILY; i++) {
		member[i] = fork();
		if (member[i])
			continue;
		close(ends[1]);
		_exit(read(ends[0], &byte, 1) != 0);
	}
	close(ends[0]);
	close(ends[1]);
	for (int i = 0; i < FAMILY; i++) {
		if (member[i] > 0)
			waitpid(member[i], NULL, 0);
	}
}
