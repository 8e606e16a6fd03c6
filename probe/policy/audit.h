/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of the kernel's audit. */
#ifndef LSMETER_POLICY_AUDIT_H
#define LSMETER_POLICY_AUDIT_H

/*
 * Send the facts audit.enabled, audit.failure, audit.backlog_limit and audit.rules, the number
 * of rules that are loaded. Of a kernel without audit, or with audit=0, audit.enabled is `none`.
 */
void audit_facts(void);

#endif
