// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * counted PROGRAM ARG...: runs the program in the account of the service, whoever calls it. What
 * a client does besides (preparing, verifying, cleaning up) stays out of the result.
 */
#include <stdio.h>
#include <unistd.h>

/* The marker of probe/arch: a NOP with MARKER_ACCOUNT + ACCOUNT_SERVICE. */
#if defined(__x86_64__)
#define MARK_SERVICE ".byte 0x0f, 0x1f, 0x84, 0x00\n\t.long 0x4c540001"
#elif defined(__aarch64__)
#define MARK_SERVICE "movz xzr, #0x4c54, lsl #16\n\tmovk xzr, #0x0001"
#else
#error "no marker is known for this architecture"
#endif

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	asm volatile(MARK_SERVICE : : : "memory");
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
