/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Restricting oneself with Landlock by raw system calls: no C library of today's age has them.
 */
#ifndef LSMETER_POLICY_LANDLOCK_H
#define LSMETER_POLICY_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* System calls, on every architecture, and what they take. */
#define NR_LANDLOCK_CREATE_RULESET 444
#define NR_LANDLOCK_ADD_RULE	   445
#define NR_LANDLOCK_RESTRICT_SELF  446
#define LANDLOCK_RULE_BENEATH	   1

#define LANDLOCK_READ_FILE    (1ull << 2)
#define LANDLOCK_FIRST_RIGHTS 0x1fffull /* to files: those of its first version */

struct landlock_beneath {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));

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

/* Have no rule of this process grant these rights, which its rulesets handle all the same. */
void landlock_withhold(uint64_t rights);

/* Whether this process is under rulesets that withhold rights. */
bool landlock_withholds(void);

#endif
