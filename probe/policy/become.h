/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turning a process into what the request wants a worker to be.
 */
#ifndef LSMETER_POLICY_BECOME_H
#define LSMETER_POLICY_BECOME_H

#include "protocol/request.h"

/* The ordinary user's number, and that of its group. */
#define ORDINARY_USER 1000

/*
 * Enter the policy's domain, become the ordinary user, be restricted by Landlock, as asked;
 * `work` is where it must still be able to work. Returns NULL, or what failed, with errno.
 */
const char *become(const struct request *request, const char *work);

#endif
