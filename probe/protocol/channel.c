// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/channel.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* What " *", the checksum and the newline need at the end of a line. */
#define TAIL_BYTES 12

static int channel_fd = -1;
static unsigned long line_number;
static char line[LINE_BYTES];
static size_t used;
static bool cut;

static uint32_t crc32(const char *data, size_t size)
{
	uint32_t crc = ~0u;

	for (size_t i = 0; i < size; i++) {
		crc ^= (unsigned char)data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

static size_t room(void)
{
	return sizeof(line) - TAIL_BYTES - used;
}

static void put(const char *text, size_t size)
{
	if (size > room()) {
		cut = true;
		return;
	}
	memcpy(line + used, text, size);
	used += size;
}

static void put_format(const char *format, ...)
{
	char text[64];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	put(text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* Add text with everything but letters, digits and a few harmless signs as %xx. */
static void put_text(const char *text)
{
	for (; *text && !cut; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		    (c && strchr("_.,:;/=+()-", c)))
			put(text, 1);
		else
			put_format("%%%02x", c);
	}
}

static void start(const char *kind)
{
	used = 0;
	cut = false;
	put_format("%lu %s", line_number++, kind);
}

static void finish(void)
{
	size_t done = 0;

	used += (size_t)sprintf(line + used, " *%08" PRIx32 "\n", crc32(line, used));
	while (done < used) {
		ssize_t n = write(channel_fd, line + done, used - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(1); /* the host sees that the lines end here */
		done += (size_t)n;
	}
}

void channel_open(int fd)
{
	struct termios mode;

	channel_fd = fd;
	if (tcgetattr(fd, &mode))
		return;
	cfmakeraw(&mode);
	mode.c_cflag |= CLOCAL;
	cfsetspeed(&mode, B115200);
	tcsetattr(fd, TCSANOW, &mode);
}

void channel_drain(void)
{
	tcdrain(channel_fd);
}

void channel_hello(void)
{
	start("hello");
	put_format(" version=%d probe=lsmeter-probe", PROTOCOL_VERSION);
	finish();
}

void channel_fact(const char *key, const char *format, ...)
{
	char value[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(value, sizeof(value), format, args);
	va_end(args);
	start("fact ");
	put_text(key);
	put(" ", 1);
	put_text(value);
	finish();
}

void channel_error(const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	start("error ");
	put_text(text);
	finish();
}

void channel_begin(unsigned int index, const char *id, const char *sweep)
{
	start("begin");
	put_format(" %u ", index);
	put_text(id);
	if (sweep) {
		put(" sweep=", 7);
		put_text(sweep);
	}
	finish();
}

/* Add a value that stands `times` in a row, after a comma if it is not the line's first. */
static void put_run(uint64_t value, size_t times, bool first)
{
	put_format("%s%" PRIu64, first ? "" : ",", value);
	if (times > 1)
		put_format("x%zu", times);
}

void channel_samples(unsigned int index, const uint64_t *value, size_t count)
{
	size_t i = 0;

	while (i < count) {
		start("samples");
		put_format(" %u ", index);
		/* Run-length encoded; 48 bytes are more than one run can take. */
		for (size_t first = i; i < count && room() > 48;) {
			size_t run = 1;

			while (i + run < count && value[i + run] == value[i])
				run++;
			put_run(value[i], run, i == first);
			i += run;
		}
		finish();
	}
}

void channel_said(unsigned int index, const char *text)
{
	start("said");
	put_format(" %u ", index);
	put_text(text);
	finish();
}

void channel_moment(unsigned int index, unsigned int batch, const char *when, uint64_t time_ns,
		    unsigned int lost)
{
	start("moment");
	put_format(" %u %u %s %" PRIu64, index, batch, when, time_ns);
	put_format(" lost=%u", lost);
	finish();
}

void channel_seen(unsigned int index, const char *source, const char *text)
{
	start("seen");
	put_format(" %u %s ", index, source);
	put_text(text);
	finish();
}

void channel_counts(unsigned int index, const char *hook, const uint32_t *runs, size_t count,
		    size_t step)
{
	size_t i = 0;

	while (i < count) {
		start("counts");
		put_format(" %u ", index);
		put_text(hook);
		put(" ", 1);
		for (size_t first = i; i < count && room() > 48;) {
			size_t run = 1;

			while (i + run < count && runs[(i + run) * step] == runs[i * step])
				run++;
			put_run(runs[i * step], run, i == first);
			i += run;
		}
		finish();
	}
}

void channel_ticked(unsigned int index, const uint32_t *at, size_t count)
{
	size_t i = 0;

	while (i < count) {
		start("ticked");
		put_format(" %u ", index);
		for (size_t first = i; i < count && room() > 48; i++)
			put_run(at[i], 1, i == first);
		finish();
	}
}

void channel_round(unsigned int index, const struct whole_round *round, unsigned long shift)
{
	start("window");
	put_format(" %u %u %" PRIu64 " %" PRIu64 " %u", index, round->ops, round->loop >> shift,
		   round->bulk >> shift, round->ticks);
	for (unsigned int i = 0; round->settled && i <= round->settled; i++)
		put_format("%c%" PRIu64, i ? ',' : ' ', round->taken[i] >> shift);
	finish();
}

void channel_whole(unsigned int index, const char *status, int error, const char *detail)
{
	start("whole");
	put_format(" %u status=%s errno=%d detail=", index, status, error);
	put_text(detail);
	finish();
}

void channel_state(unsigned int index, const char *name, const char *moment, const char *text)
{
	start("state");
	put_format(" %u ", index);
	put_text(name);
	put_format(" %s ", moment);
	put_text(text);
	finish();
}

void channel_end(unsigned int index, const char *status, size_t count, unsigned int failures,
		 int error, const char *detail)
{
	start("end");
	put_format(" %u status=%s n=%zu", index, status, count);
	put_format(" failures=%u errno=%d detail=", failures, error);
	put_text(detail);
	finish();
}

void channel_bye(unsigned int benchmarks)
{
	start("bye");
	put_format(" %u", benchmarks);
	finish();
}
