// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * counted PROGRAM ARG...: runs the program in the account of the service, whoever calls it. What
 * a client does besides (preparing, verifying, cleaning up) stays out of the result.
 */
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	/* The marker of plugin/markers.h: a NOP with MARKER_ACCOUNT + ACCOUNT_SERVICE. */
	asm volatile(".byte 0x0f, 0x1f, 0x84, 0x00\n\t.long 0x4c540001" : : : "memory");
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
