/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The result channel: numbered lines of ASCII, each with a checksum.
 *
 *	<number> <kind> <fields> *<crc32, 8 hex digits>\n
 *
 * The checksum (that of zlib) covers what stands before " *". Fields are separated by one
 * space; text in fields is percent-encoded. A line has at most 4,096 bytes.
 * docs/reference/protocol.md and the host's guest/protocol.py have the same.
 */
#ifndef LSMETER_PROTOCOL_CHANNEL_H
#define LSMETER_PROTOCOL_CHANNEL_H

#include "protocol/limits.h"
#include "sampler/whole.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Send to this descriptor from now on. A terminal is made raw, so that no byte is changed. */
void channel_open(int fd);

/* Wait until all has left the machine: no transmit interrupt may fall into a reading. */
void channel_drain(void);

void channel_hello(void);
void channel_fact(const char *key, const char *format, ...) __attribute__((format(printf, 2, 3)));
void channel_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A benchmark begins; sweep is NULL outside a sweep. */
void channel_begin(unsigned int index, const char *id, const char *sweep);
void channel_samples(unsigned int index, const uint64_t *value, size_t count);
/* What the client said last in the batch that gave the next of the samples. */
void channel_said(unsigned int index, const char *text);
/* A moment of a batch: guest time, and how many before it were left out. */
void channel_moment(unsigned int index, unsigned int batch, const char *when, uint64_t time_ns,
		    unsigned int lost);
/* What one source said in the moment that was sent last. */
void channel_seen(unsigned int index, const char *source, const char *text);
/* How often `hook` was run in each of `count` readings; its numbers stand `step` apart. */
void channel_counts(unsigned int index, const char *hook, const uint32_t *runs, size_t count,
		    size_t step);
/* Which of the readings hold a timer tick, by their places. */
void channel_ticked(unsigned int index, const uint32_t *at, size_t count);
/* One round of cycles; its figures are shifted right to instructions. */
void channel_round(unsigned int index, const struct whole_round *round, unsigned long shift);
/* How the whole cost ended: ok, failed, timeout, crashed. */
void channel_whole(unsigned int index, const char *status, int error, const char *detail);
/* Content of a state file at a moment (before, after) of the benchmark. */
void channel_state(unsigned int index, const char *name, const char *moment, const char *text);
void channel_end(unsigned int index, const char *status, size_t count, unsigned int failures,
		 int error, const char *detail);
void channel_bye(unsigned int benchmarks);

#endif
