/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Restricting oneself with Landlock by raw system calls: no C library of today's age has them.
 */
#ifndef LSMETER_POLICY_LANDLOCK_H
#define LSMETER_POLICY_LANDLOCK_H

/* Where the directories of the rules beyond the first live, unless landlock_rules_in() said so. */
#define LANDLOCK_RULES_DIR "/rules"

/* The longest path of a directory to work in. */
#define LANDLOCK_PATH_BYTES 256

/* Have the directories of the rules beneath `top`; the text must stay. */
void landlock_rules_in(const char *top);

/* The version of the interface, or -errno (-ENOSYS: not built in; -EOPNOTSUPP: not active). */
int landlock_abi(void);

/* How a process restricts itself. */
struct landlock_shape {
	unsigned long layers; /* stacked rulesets; 0: it does not */
	unsigned long rules;  /* in each ruleset */
	unsigned long
		depth; /* directories from the one where work is done up to that of the rule */
};

/*
 * Make the directories that the rules need, and `depth` of them beneath `top`, one in the other.
 * Returns the innermost one, where work is to be done, or NULL with errno.
 */
const char *landlock_prepare(const char *top, const struct landlock_shape *shape);

/*
 * Put `layers` rulesets upon this process. Each handles every right to files that this kernel
 * knows, and has `rules` rules: the first grants all of it beneath the directory `depth` above
 * `work`, each further one beneath an empty directory of its own. Returns 0 or -errno.
 */
int landlock_restrict(const char *work, const struct landlock_shape *shape);

#endif
