/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A request on a machine as it runs: nothing of it is changed but what setups' steps change.
 */
#ifndef LSMETER_NATIVE_H
#define LSMETER_NATIVE_H

/*
 * Run the request of a file in the empty directory `top`, with results on standard output. Work is
 * done in its subdirectory `data`. Root has mounts of its own, which end with this process.
 * Returns the exit code.
 */
int native_main(const char *top, const char *file);

#endif
