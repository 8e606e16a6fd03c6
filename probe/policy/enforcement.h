/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Enforcement checks: accesses that a policy must deny, or allow, made in the guest.
 *
 * A line (key `proof`) is NAME ACCESS PATH [TEXT]; ACCESS is read, write, create, execute, stat,
 * chmod, reread (write a new file, then read it), or copy, whose PATH is FROM:TO; TEXT is what the
 * kernel's own message on the access must contain.
 */
#ifndef LSMETER_POLICY_ENFORCEMENT_H
#define LSMETER_POLICY_ENFORCEMENT_H

#include "protocol/request.h"

/*
 * Make accesses before there is a policy: facts `proof.NAME.before`, allowed where nothing but the
 * policy can forbid them. What does not exist yet gives no fact. line is the step that asks for
 * it, `try NAME...`: these checks, or all if there is no name.
 */
void enforcement_before(const struct request *request, const char *line);

/*
 * Make all accesses as a worker: facts `proof.NAME` (denied, allowed, or failed with the errno),
 * `proof.NAME.errno`, and `proof.NAME.message`, the kernel's line.
 */
void enforcement_check(const struct request *request, const char *work);

#endif
