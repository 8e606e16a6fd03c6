/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a worker is: a process that has become one looks at itself.
 */
#ifndef LSMETER_POLICY_IDENTITY_H
#define LSMETER_POLICY_IDENTITY_H

#include "protocol/request.h"

/* Report a worker's user, capabilities, context, and what Landlock denies it. */
void identity_facts(const struct request *request, const char *work);

#endif
