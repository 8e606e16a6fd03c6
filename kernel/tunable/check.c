// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tunable policy latency - decisions that take a chosen time
 */

#include <linux/errno.h>
#include <linux/processor.h>
#include <linux/ktime.h>

#include "tunable.h"

struct tunable_check tunable_inode_check;
struct tunable_check tunable_file_check;

/**
 * tunable_check_wait - Take as long for a decision as was asked
 * @check: the kind of decision
 *
 * The wait ends with the first reading of the clock that is late enough, so
 * that it is longer than asked by up to the time between two readings. What it
 * took is counted: who measures a single call knows it exactly.
 *
 * Wait on the clock and not in a calibrated loop: ndelay() has errors of many
 * percent where the cost of an instruction is not what it was at boot. A delay
 * of 0 runs the same code as any other, which is one reading of the clock; a
 * shortcut would take the point at 0 off the line that the others are on.
 *
 * Context: Any in which the kernel calls a security hook. Does not sleep.
 */
void tunable_check_wait(struct tunable_check *check)
{
	const u64 delay = READ_ONCE(check->delay_ns);
	const u64 start = ktime_get_mono_fast_ns();
	u64 waited;

	for (;;) {
		waited = ktime_get_mono_fast_ns() - start;
		if (waited >= delay)
			break;
		cpu_relax();
	}
	atomic64_inc(&check->calls);
	atomic64_add(waited, &check->waited_ns);
}

/**
 * tunable_check_set - Set how long decisions take, and forget past ones
 * @check: the kind of decision
 * @delay_ns: the least time for each of them
 *
 * Calls that are under way may still end with the former delay and be counted.
 *
 * Return: 0, or -ERANGE if @delay_ns is above TUNABLE_LIMIT_NS.
 */
int tunable_check_set(struct tunable_check *check, u64 delay_ns)
{
	if (delay_ns > TUNABLE_LIMIT_NS)
		return -ERANGE;
	WRITE_ONCE(check->delay_ns, delay_ns);
	atomic64_set(&check->calls, 0);
	atomic64_set(&check->waited_ns, 0);
	return 0;
}
