// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The suite `process`: a ring of processes, each of which reads a byte from its pipe, goes over
 * its own memory and writes the byte into the next pipe. The region is one round, as many switches
 * as there are processes.
 */
#include "layout/own_memory.h"
#include "ops/define.h"
#include "ops/peer.h"

#define SUITE	   "process"
#define MOST_BYTES 65536
#define LINE_BYTES 64

static int ring[MOST_PEERS][2];
static char memory[MOST_BYTES] BULK;
static char byte;
static long count, bytes;

static inline __attribute__((always_inline)) void go_over(void)
{
	for (long i = 0; i < bytes; i += LINE_BYTES)
		((volatile char *)memory)[i]++;
}

static void serve(long number)
{
	for (;;) {
		if (sys4(SYS_read, ring[number][0], (long)&byte, 1, 0) != 1)
			return;
		go_over();
		if (sys_write(ring[(number + 1) % count][1], &byte, 1) != 1)
			return;
	}
}

static int ring_setup(struct bench *bench)
{
	int error = peer_batch();

	count = bench->variant->value & 0xff;
	bytes = bench->variant->value >> 8 << 10;
	for (long i = 0; i < count && !error; i++)
		error = (int)sys4(AS_PIPE(ring[i]));
	for (long i = 1; i < count && !error; i++)
		error = peer_start(serve, i);
	return error;
}

static int ring_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_write, .arg = {ring[1][1], (long)&byte, 1}, .want = 1});
	push(bench, (struct call){.nr = SYS_read, .arg = {ring[0][0], (long)&byte, 1}, .want = 1});
	region_from(bench, 0);
	return 0;
}

static void ring_run(struct bench *bench)
{
	call_all(&bench->call[0]);
	call_all(&bench->call[1]);
	go_over();
}

static int ring_teardown(struct bench *bench)
{
	(void)bench;
	peer_stop_all();
	for (long i = 0; i < count; i++) {
		sys_close(ring[i][0]);
		sys_close(ring[i][1]);
	}
	return 0;
}

#define RING(processes, kib) \
	VARIANT("procs=" #processes ",kib=" #kib, \
		"a round of " #processes " processes that go over " #kib " KiB each", \
		(processes) | (kib) << 8)
#define RINGS(kib) RING(2, kib), RING(4, kib), RING(8, kib), RING(16, kib)

VARIANTS(ring, RINGS(0), RINGS(16), RINGS(64));
DEFINE_OP(ring, "switch", .settles = true, .processes = true, .setup = ring_setup, .run = ring_run,
	  .teardown = ring_teardown, .calls = "write+read", .cycle = "write+read");
