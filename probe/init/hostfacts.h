/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What of a machine decides how long things take, and may change while it is measured.
 */
#ifndef LSMETER_INIT_HOSTFACTS_H
#define LSMETER_INIT_HOSTFACTS_H

/* Send facts whose names begin with `prefix`. */
void host_facts(const char *prefix);

#endif
