// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lsmeter-bpf: loads one of the policies that are BPF programs into the kernel that it runs on,
 * where they stay until the system ends. Runs in a guest.
 */
#include "loader.h"

#include <stdio.h>
#include <string.h>

static const char usage[] = "usage: lsmeter-bpf lomac PATH=LEVEL...\n"
			    "       lsmeter-bpf allow ENTRIES TOP LISTED...\n"
			    "       lsmeter-bpf inject COSTS\n";

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "lomac"))
		return command_lomac(argc - 2, argv + 2) ? 1 : 0;
	if (argc > 2 && !strcmp(argv[1], "allow"))
		return command_allow(argc - 2, argv + 2) ? 1 : 0;
	if (argc > 2 && !strcmp(argv[1], "inject"))
		return command_inject(argc - 2, argv + 2) ? 1 : 0;
	fputs(usage, stderr);
	return 2;
}
