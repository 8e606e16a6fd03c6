/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sockets in the peer network namespace for a worker that may not go there: a process that shares
 * its descriptors goes there before both give up their privileges, is confined as the worker
 * will be, makes sockets of each kind, and ends. The sockets have the label, and the user, that
 * the worker's own have.
 */
#ifndef LSMETER_NET_PEER_H
#define LSMETER_NET_PEER_H

#include "net/network.h"
#include "protocol/request.h"

/* Before the worker is confined. NULL, or what went wrong, with errno set. */
const char *peer_open(const struct request *request, const char *work);

/* So many there are of each kind. */
#define PEER_SOCKETS 20

/* The next of the sockets, for the caller to close; -errno if it could not be made. */
int peer_socket(int family, int type);

/* Whether there is no peer namespace here. */
bool peer_missing(void);

/* Close those that nobody took. */
void peer_close(void);

#endif
