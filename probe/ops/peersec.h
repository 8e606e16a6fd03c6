/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The label of the other end of a connection, as a security module keeps it. Modules without
 * such labels answer with an error, always the same one: there is nothing to measure then.
 */
#ifndef LSMETER_OPS_PEERSEC_H
#define LSMETER_OPS_PEERSEC_H

#include "ops/define.h"

#include <sys/socket.h>

static char peersec_label[256];
static int peersec_bytes;

/* After setting up the connection, with what that answered: ask once, through this end. */
static inline int peersec_try(int error, int fd)
{
	if (!error) {
		peersec_bytes = sizeof(peersec_label);
		error = (int)sys6(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERSEC, (long)peersec_label,
				  (long)&peersec_bytes, 0);
	}
	return error == -ENOPROTOOPT ? -EOPNOTSUPP : error;
}

static inline int peersec_ask(struct bench *bench, int fd)
{
	return one(bench, (struct call){.nr = SYS_getsockopt,
					.arg = {fd, SOL_SOCKET, SO_PEERSEC, (long)peersec_label,
						(long)&peersec_bytes}});
}

static void peersec_run(struct bench *bench)
{
	peersec_bytes = sizeof(peersec_label);
	call_all(&bench->call[0]);
}

#endif
