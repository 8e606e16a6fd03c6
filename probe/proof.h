/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Proofs that a policy is enforced: accesses that it must deny, or allow, tried in the guest.
 *
 * A line is NAME ACCESS PATH [TEXT]; ACCESS is read, write, create, execute, stat, chmod, reread
 * (write a new file, then read it), or copy, whose PATH is FROM:TO; TEXT is what the kernel's own
 * message on the access must contain.
 */
#ifndef LSMETER_PROOF_H
#define LSMETER_PROOF_H

#include "request.h"

/*
 * Try accesses before there is a policy: facts `proof.NAME.before`, allowed where nothing but the
 * policy can forbid them. What does not exist yet gives no fact. line is the step that asks for
 * it, `try NAME...`: these proofs, or all if there is no name.
 */
void proofs_before(const struct request *request, const char *line);

/*
 * Try all accesses as a worker: facts `proof.NAME` (denied, allowed, or failed with the errno),
 * `proof.NAME.errno`, and `proof.NAME.message`, the kernel's line.
 */
void proofs_run(const struct request *request, const char *work);

#endif
