/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The markers around measured regions, and the numbers of regions
 * (docs/reference/protocol.md): shared by the plugin, the probe, and the guests of tests.
 * Only numbers are here, for assemblers as well.
 */
#ifndef LSMETER_MARKERS_H
#define LSMETER_MARKERS_H

/* A marker is a NOP that carries one of these, with 16 bits of payload. */
#define MARKER_PREPARE 0x4c500000
#define MARKER_BEGIN   0x4c510000
#define MARKER_END     0x4c520000
#define MARKER_NIBBLE  0x4c530000
/* Whose work follows: of this task, and of those that it starts from here on. */
#define MARKER_ACCOUNT 0x4c540000
/* 0x4c5 as the first 12 bits: 8 would be too few to rule out a coincidence. */
#define MARKER_MASK    0xfff00000
#define MARKER_KIND    0x000f0000
#define MARKER_PAYLOAD 0x0000ffff

/* On x86 an 8-byte NOP with a 32-bit displacement: these bytes, then the marker. */
#define MARKER_NOP_X86 0x0f, 0x1f, 0x84, 0x00

/* Accounts: a server's processes; the client's; what prepares and drives them. */
#define ACCOUNT_SERVICE 1
#define ACCOUNT_CLIENT	2
#define ACCOUNT_DRIVER	3

/*
 * Regions: benchmarks by their index from 0; from here windows of their cycles, what whole windows
 * left to be done, and what short ones did.
 */
#define REGION_WHOLE	  0x4000
#define REGION_LEFT	  0x6000
#define REGION_BRIEF_LEFT 0x8000

#endif
