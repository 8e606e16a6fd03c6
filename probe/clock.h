/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading the time-stamp counter and marking the measured region, as assembler text that
 * sample.c puts around the measured system calls.
 *
 * lfence keeps real hardware from moving rdtsc across the calls; under emulation it is one
 * instruction like any other, the same at both ends.
 */
#ifndef LSMETER_CLOCK_H
#define LSMETER_CLOCK_H

/* Leave the 64-bit counter in rax; rdx is lost. */
#define READ_TSC \
	"lfence\n\t" \
	"rdtsc\n\t" \
	"shl $32, %%rdx\n\t" \
	"or %%rdx, %%rax\n\t"

/*
 * A marker is an 8-byte NOP whose displacement carries 0x4c5 (20 bits would be too many for a
 * coincidence), a kind and 16 bits of payload. A QEMU plugin sees it by its bytes, so the
 * probe needs no privilege; everywhere else it does nothing.
 */
#define MARK_BEGIN  ".byte 0x0f, 0x1f, 0x84, 0x00\n\t.long 0x4c510000\n\t"
#define MARK_END    ".byte 0x0f, 0x1f, 0x84, 0x00\n\t.long 0x4c520000\n\t"
#define MARK_NIBBLE ".byte 0x0f, 0x1f, 0x84, 0x00\n\t.long 0x4c530000 + %c0\n\t"

#endif
