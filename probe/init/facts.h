/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of this kernel: active LSMs, their policies, mitigations, machine.
 */
#ifndef LSMETER_INIT_FACTS_H
#define LSMETER_INIT_FACTS_H

/* Send all facts. proc, sysfs and securityfs must be mounted. */
void facts_send(void);

#endif
