/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the programs that cost what they are told and by what loads them. */
#ifndef LSMETER_BPF_INJECT_H
#define LSMETER_BPF_INJECT_H

/* Places in the order of src/lsmeter/catalogue/setups/inject.py: name, where its program is
 * attached, and how many instructions a call may cost there, in thousands: the verifier walks all
 * of them. */
#define INJECT_PLACES(PLACE) \
	PLACE(getattr, "lsm/inode_getattr", 5) \
	PLACE(open, "lsm/file_open", 5) \
	PLACE(rename, "lsm/inode_rename", 10) \
	PLACE(setattr, "lsm/inode_setattr", 40) \
	PLACE(rmdir, "lsm/inode_rmdir", 5) \
	PLACE(mkdir, "lsm/inode_mkdir", 5) \
	PLACE(create, "lsm/inode_create", 5) \
	PLACE(permission, "lsm/file_permission", 200) \
	PLACE(file_free, "lsm/file_free_security", 10) \
	PLACE(inode_free, "lsm/inode_free_security", 10) \
	PLACE(outside, "fentry/generic_fillattr", 10) \
	PLACE(inode_rcu, "fentry/i_callback", 10)

#define INJECT_COUNT(name, section, thousands) INJECT_##name,
enum inject_place { INJECT_PLACES(INJECT_COUNT) INJECT_PLACE_COUNT };

/* Calls after which the costs of a place come again, at most. */
#define INJECT_LENGTH	 20480
#define INJECT_TEXT_SIZE 512

/* Instructions of one round of the two loops. */
#define INJECT_LARGE 1000
#define INJECT_SMALL 20

/* What a call costs: rounds of either loop. */
struct inject_cost {
	unsigned short large, small;
};

struct inject_state {
	char text[INJECT_TEXT_SIZE]; /* what was asked for */
	unsigned long long lost;     /* costs that a program could not take */
	struct {
		unsigned long long calls, insns; /* met so far, and what all of them cost */
		unsigned long long length;	 /* of `cost`, 1 or more */
		struct inject_cost cost[INJECT_LENGTH];
	} place[INJECT_PLACE_COUNT];
};

#endif
