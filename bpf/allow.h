/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the allow-list's programs and their loader agree on.
 */
#ifndef LSMETER_BPF_ALLOW_H
#define LSMETER_BPF_ALLOW_H

/* A directory: its file system, as the kernel numbers devices inside, and its inode number. */
struct allow_key {
	unsigned long long device;
	unsigned long long inode;
};

enum allow_entry {
	ENTRY_DENIED,	 /* it was there when the list was made, and is not on it */
	ENTRY_LISTED,	 /* on the list */
	ENTRY_INHERITED, /* made later beneath one that is allowed */
};

/* Room for directories that are made while the list is in force. */
#define ALLOW_ROOM 16384

#endif
