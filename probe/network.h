/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The network of a guest: its loopback device.
 */
#ifndef LSMETER_NETWORK_H
#define LSMETER_NETWORK_H

/* Set the loopback device of this network namespace up; 0 or -errno. */
int network_up(void);

#endif
