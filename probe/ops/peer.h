/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes beside the one that measures, which live from setup to teardown. They are killed with
 * it, should it be.
 */
#ifndef LSMETER_OPS_PEER_H
#define LSMETER_OPS_PEER_H

#include "arch/sys.h"

#include <linux/sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>

#define MOST_PEERS 16

static long peer[MOST_PEERS];
static unsigned int peers;

/*
 * With this policy a process that is woken never takes the processor from the one that runs: turns
 * change where one waits, and nowhere else. Who makes processes inherits it to them.
 */
static inline int peer_batch(void)
{
	static const int priority;

	return (int)sys4(SYS_sched_setscheduler, 0, SCHED_BATCH, (long)&priority, 0);
}

/* Start a process that serves for ever; 0 or -errno. */
static inline int peer_start(void (*serve)(long number), long number)
{
	long pid = sys4(AS_FORK());

	if (!pid) {
		sys4(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
		serve(number);
		sys4(SYS_exit_group, 1, 0, 0, 0);
	}
	if (pid < 0)
		return (int)pid;
	peer[peers++] = pid;
	return 0;
}

static inline void peer_stop_all(void)
{
	while (peers) {
		sys4(SYS_kill, peer[--peers], SIGKILL, 0, 0);
		sys4(SYS_wait4, peer[peers], 0, 0, 0);
	}
}

/* A server that does nothing. */
static inline void peer_sleep(long number)
{
	(void)number;
	for (;;)
		sys4(AS_PAUSE());
}

#endif
