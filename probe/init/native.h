/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A request on a machine as it runs: nothing of it is changed but what setups' steps change.
 */
#ifndef LSMETER_INIT_NATIVE_H
#define LSMETER_INIT_NATIVE_H

/*
 * Run the request of a file in the empty directory `top`, with results on standard output. Work is
 * done in its subdirectory `data`. Root has mounts of its own, which end with this process.
 * Where `ring` is not NULL, readings are taken in turns with other processes: see
 * sampler/scheduling.h; `place` is ours. Returns the exit code.
 */
int native_main(const char *top, const char *file, const char *ring, unsigned int place);

#endif
