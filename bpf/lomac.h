/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the LOMAC programs and their loader agree on.
 */
#ifndef LSMETER_BPF_LOMAC_H
#define LSMETER_BPF_LOMAC_H

/* 0 is no level. */
#define LEVEL_LOW  1u
#define LEVEL_HIGH 2u

/* What is kept with an inode. */
struct lomac_object {
	unsigned int table; /* of the directory or file that the table of levels names, else 0 */
	unsigned int saved; /* of a file when it was last opened, else 0 */
};

/* What is kept with the first thread of a process. */
struct lomac_subject {
	unsigned int level;
};

#endif
