// SPDX-License-Identifier: GPL-2.0-or-later
#include "policy/landlock.h"

#include "protocol/limits.h"

#include "arch/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#define CREATE_RULESET_VERSION 1

/* Rights to files by version: 13 bits at first, then REFER, TRUNCATE and IOCTL_DEV. */
static uint64_t file_rights(int abi)
{
	unsigned int bits = 13;

	if (abi >= 2)
		bits++;
	if (abi >= 3)
		bits++;
	if (abi >= 5)
		bits++;
	return (1ull << bits) - 1;
}

_Static_assert(sizeof(struct landlock_beneath) == 12, "layout of the kernel's interface");

int landlock_abi(void)
{
	return (int)sys4(NR_LANDLOCK_CREATE_RULESET, 0, 0, CREATE_RULESET_VERSION, 0);
}

static const char *above_rules = "";
static uint64_t withheld;
static bool restricted;

void landlock_withhold(uint64_t rights)
{
	withheld = rights;
}

bool landlock_withholds(void)
{
	return restricted && withheld;
}

void landlock_rules_in(const char *top)
{
	above_rules = top;
}

static void rule_dir(char *path, size_t size, unsigned long rule)
{
	snprintf(path, size, "%s" LANDLOCK_RULES_DIR "/%04lu", above_rules, rule);
}

const char *landlock_prepare(const char *top, const struct landlock_shape *shape)
{
	static char work[LANDLOCK_PATH_BYTES + MAX_LANDLOCK_DEPTH * 3];
	char path[LANDLOCK_PATH_BYTES + 32];
	int error;

	snprintf(path, sizeof(path), "%s" LANDLOCK_RULES_DIR, above_rules);
	error = shape->rules ? sys_mkdir(path, 0755) : 0;
	for (unsigned long rule = 1; rule < shape->rules && !error; rule++) {
		rule_dir(path, sizeof(path), rule);
		error = sys_mkdir(path, 0755);
	}
	snprintf(work, sizeof(work), "%s", top);
	for (unsigned long i = 0; i < shape->depth && !error; i++) {
		strcat(work, "/NN");
		error = sys_mkdir(work, 0755);
	}
	errno = -error;
	return error ? NULL : work;
}

static int add_rule(int ruleset, const char *path, uint64_t rights)
{
	struct landlock_beneath rule = {.allowed_access = rights};
	int error;

	rule.parent_fd = sys_open(path, O_PATH | O_CLOEXEC, 0);
	if (rule.parent_fd < 0)
		return rule.parent_fd;
	error = (int)sys4(NR_LANDLOCK_ADD_RULE, ruleset, LANDLOCK_RULE_BENEATH, (long)&rule, 0);
	sys_close(rule.parent_fd);
	return error;
}

/* A ruleset with all its rules; returns its descriptor or -errno. */
static int make_ruleset(const char *work, const struct landlock_shape *shape, uint64_t rights)
{
	char path[LANDLOCK_PATH_BYTES + 2 * MAX_LANDLOCK_DEPTH * 3 + 32];
	/* The first version of the structure has this one member, and every kernel takes it. */
	int ruleset = (int)sys4(NR_LANDLOCK_CREATE_RULESET, (long)&rights, sizeof(rights), 0, 0);
	int error;

	if (ruleset < 0)
		return ruleset;
	snprintf(path, sizeof(path), "%s", work);
	for (unsigned long i = 0; i < shape->depth; i++)
		strcat(path, "/..");
	error = add_rule(ruleset, path, rights & ~withheld);
	for (unsigned long rule = 1; rule < shape->rules && !error; rule++) {
		rule_dir(path, sizeof(path), rule);
		error = add_rule(ruleset, path, rights & ~withheld);
	}
	if (!error)
		return ruleset;
	sys_close(ruleset);
	return error;
}

int landlock_restrict(const char *work, const struct landlock_shape *shape)
{
	unsigned long layers = shape->layers;
	int abi = landlock_abi();
	int *ruleset;
	int fds[MAX_LANDLOCK_LAYERS];
	int error = 0;
	unsigned long made = 0;

	if (abi < 0)
		return abi;
	if (layers > sizeof(fds) / sizeof(fds[0]) || shape->depth > MAX_LANDLOCK_DEPTH)
		return -E2BIG;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	/* All rulesets are made first: behind the first layer the rules' paths are closed. */
	for (ruleset = fds; made < layers && !error; made++, ruleset++) {
		*ruleset = make_ruleset(work, shape, file_rights(abi));
		if (*ruleset < 0)
			error = *ruleset;
	}
	for (unsigned long i = 0; i < layers && !error; i++)
		error = (int)sys4(NR_LANDLOCK_RESTRICT_SELF, fds[i], 0, 0, 0);
	for (unsigned long i = 0; i < made; i++)
		sys_close(fds[i]);
	restricted = !error;
	return error;
}
