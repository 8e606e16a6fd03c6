/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a setup has the guest do before anything is measured, such as loading a policy: one
 * action and its words a line.
 *
 *	run PROGRAM ARGUMENT...		must leave with status 0
 *	write PATH TEXT			in one call
 *	load PATH FILE			the file's content, in as few calls as PATH takes it
 *	file PATH TEXT			a new file that everybody may read and write
 *	mkdir PATH
 *	mount TYPE PATH [OPTIONS]
 *	label PATH NAME VALUE		an extended attribute
 *	visit DIRECTORY			stat each of its entries
 *	enter PATH TEXT			write, unless that is what the file says
 *	key TYPE NAME PAYLOAD		add a key to the process's keyring
 *	background THREAD		the kernel's thread runs only when nothing else can
 *	network				two network namespaces and a link between them
 *	cipso				the same, and IPv4 packets carry labels (CIPSO)
 *	secmark CONTEXT			the same, and nftables mark all packets
 *	ipsec [CONTEXT POLICY]		the same, and IPsec on the link, labelled
 */
#ifndef LSMETER_INIT_STEPS_H
#define LSMETER_INIT_STEPS_H

/*
 * Carry out one line. Returns NULL, or what went wrong in one line that stays valid until the
 * next call; errno is set then.
 */
const char *step_run(const char *line);

#endif
