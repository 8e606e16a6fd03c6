/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the guest says of its services: their processes, and the contexts that these run in. */
#ifndef LSMETER_WORKLOAD_SERVICES_H
#define LSMETER_WORKLOAD_SERVICES_H

#include "protocol/request.h"

/* Before anything is measured. */
void services_facts(const struct request *request);

/* Once all is measured. */
void services_facts_after(const struct request *request);

#endif
