/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A network whose connections are alike: the same port each time, the same timers beside theirs.
 */
#ifndef LSMETER_NET_BASELINE_H
#define LSMETER_NET_BASELINE_H

#include <stdbool.h>

/*
 * For as long as this process lives, in the network that was joined (network.h); nothing where
 * there is none. 0 or -errno, which says what connections may differ in.
 */
int network_baseline_set(void);

/* Whether that was done: counts of instructions are to be the same in each boot. */
bool network_baseline(void);

#endif
