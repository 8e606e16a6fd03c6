/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of TOMOYO; without TOMOYO, these do nothing. */
#ifndef LSMETER_POLICY_TOMOYO_H
#define LSMETER_POLICY_TOMOYO_H

#include <stdbool.h>
#include <stddef.h>

/* Send facts `tomoyo.*`: version, profiles, domains, and the rules of all domains. */
void tomoyo_facts(void);

/* The domain of this process, read through the module's own file; "" if that is not there. */
void tomoyo_domain(char *domain, size_t size);

/* Empty the module's own log of access checks. */
void tomoyo_log_clear(void);

/*
 * Find an entry of the module's own log that contains `text`, and take it out. TOMOYO writes
 * access checks there, and nothing into the kernel's log. The entry's lines are joined by spaces.
 */
bool tomoyo_log_find(const char *text, char *message, size_t size);

#endif
