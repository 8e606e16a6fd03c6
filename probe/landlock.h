/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Restricting oneself with Landlock by raw system calls: no C library of today's age has them.
 */
#ifndef LSMETER_LANDLOCK_H
#define LSMETER_LANDLOCK_H

/* Where the directories of the rules beyond the first live. */
#define LANDLOCK_RULES_DIR "/rules"

/* The version of the interface, or -errno (-ENOSYS: not built in; -EOPNOTSUPP: not active). */
int landlock_abi(void);

/* Make the directories that `rules` rules need. Returns 0 or -errno. */
int landlock_prepare(unsigned long rules);

/*
 * Put `layers` rulesets upon this process. Each handles every right to files that this kernel
 * knows, and has `rules` rules: the first grants all of it beneath `work`, each further one
 * beneath an empty directory of its own. Returns 0 or -errno.
 */
int landlock_restrict(const char *work, unsigned long layers, unsigned long rules);

#endif
