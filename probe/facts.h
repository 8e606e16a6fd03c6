/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this kernel says of itself: active LSMs and their state, mitigations, machine.
 */
#ifndef LSMETER_FACTS_H
#define LSMETER_FACTS_H

/* Send all facts. proc, sysfs and securityfs must be mounted. */
void facts_send(void);

#endif
