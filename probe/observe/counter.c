// SPDX-License-Identifier: GPL-2.0-or-later
#include "observe/counter.h"

#include "protocol/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILE_BYTES 4096
#define MOMENTS	   3

/* Of a worker and the process that reads for it. */
struct counter_shared {
	uint32_t asked, answered; /* how often */
	unsigned int moment;	  /* which reading of a stretch was asked for */
	int error;
	uint64_t value[MOMENTS][MAX_COUNTERS];
};

/* Keep the name of a number, with what a name cannot have replaced. */
static void note_name(char *to, const char *source, const char *name, size_t length)
{
	snprintf(to, COUNTER_NAME_SIZE, "%s.%.*s", source, (int)length, name);
	for (char *c = to; *c; c++)
		*c = isalnum((unsigned char)*c) || *c == '.' ? (char)tolower(*c) : '_';
}

static const char *next_line(const char *text)
{
	text += strcspn(text, "\n");
	return *text ? text + 1 : text;
}

/* The columns of a table: its first line names them, and the next one has numbers; else 0. */
static unsigned int columns_of(const char *text, const struct counter_source *source,
			       char (*names)[COUNTER_NAME_SIZE])
{
	const char *end = text + strcspn(text, "\n");
	unsigned int columns = 0;

	if (!isdigit((unsigned char)*next_line(text)))
		return 0;
	while (text < end && isalpha((unsigned char)*text) && columns < source->room) {
		size_t length = strcspn(text, " \n");

		if (memchr(text, ':', length))
			return 0;
		if (names)
			note_name(names[source->first + columns], source->name, text, length);
		columns++;
		text += length;
		text += strspn(text, " ");
	}
	return text == end && columns > 1 ? columns : 0;
}

/* Add up the rows of a table. */
static void sum_rows(const char *text, unsigned int columns, uint64_t *value)
{
	memset(value, 0, columns * sizeof(*value));
	for (const char *line = next_line(text); *line; line = next_line(line)) {
		const char *at = line;

		for (unsigned int i = 0; i < columns && isdigit((unsigned char)*at); i++) {
			char *end;

			value[i] += strtoull(at, &end, 10);
			at = end + strspn(end, " ");
		}
	}
}

/* Lines of a name and a number; returns how many there are. */
static unsigned int take_lines(const char *text, const struct counter_source *source,
			       char (*names)[COUNTER_NAME_SIZE], uint64_t *value)
{
	unsigned int count = 0;

	for (; *text && count < source->room; text = next_line(text)) {
		size_t colon = strcspn(text, ":\n"), space = strcspn(text, " \n");
		size_t length = text[colon] == ':' ? colon : space;
		const char *number = text + length + strspn(text + length, ": \t");

		if (!isalpha((unsigned char)*text) || !isdigit((unsigned char)*number))
			continue;
		if (names)
			note_name(names[source->first + count], source->name, text, length);
		value[count++] = strtoull(number, NULL, 10);
	}
	return count;
}

/* Read the numbers of a file; returns how many there are, or -errno. */
static int read_source(const struct counter_source *source, char (*names)[COUNTER_NAME_SIZE],
		       uint64_t *value)
{
	char text[FILE_BYTES];
	ssize_t n = pread(source->fd, text, sizeof(text) - 1, 0);
	unsigned int columns;

	if (n < 0)
		return -errno;
	text[n] = '\0';
	columns = columns_of(text, source, names);
	if (!columns)
		return (int)take_lines(text, source, names, value);
	sum_rows(text, columns, value);
	return (int)columns;
}

static const char *open_source(struct counter *counter, const char *line)
{
	struct counter_source *source = &counter->source[counter->n_sources];
	uint64_t value[MAX_COUNTERS];
	static struct words words;
	const char *failed = text_split(line, &words);
	int count;

	if (!failed && words.count != 2)
		failed = "it must be a name and a path";
	if (failed)
		return failed;
	source->fd = open(words.word[1], O_RDONLY | O_CLOEXEC);
	if (source->fd < 0)
		return strerror(errno);
	snprintf(source->name, sizeof(source->name), "%s", words.word[0]);
	source->first = counter->n_names;
	source->room = MAX_COUNTERS - counter->n_names;
	count = read_source(source, counter->name, value);
	if (count < 0)
		return strerror(-count);
	if (!count)
		return "there is no number in it";
	source->room = (unsigned int)count;
	counter->n_names += (unsigned int)count;
	counter->n_sources++;
	return NULL;
}

const char *counter_open(struct counter *counter, const struct request *request)
{
	static char failure[256];

	for (size_t i = 0; i < request->n_counters; i++) {
		const char *failed = open_source(counter, request->counter[i]);

		if (failed) {
			snprintf(failure, sizeof(failure), "counter '%.60s': %s",
				 request->counter[i], failed);
			return failure;
		}
	}
	return NULL;
}

/* Read all files; 0 or -errno. */
static int read_all(const struct counter *counter, uint64_t *value)
{
	for (unsigned int i = 0; i < counter->n_sources; i++) {
		const struct counter_source *source = &counter->source[i];
		int count = read_source(source, NULL, value + source->first);

		if (count != (int)source->room)
			return count < 0 ? count : -EBADMSG;
	}
	return 0;
}

static void wait_while(uint32_t *word, uint32_t value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
		syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static void put(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static _Noreturn void serve(const struct counter *counter)
{
	struct counter_shared *shared = counter->shared;

	for (uint32_t served = 0;; put(&shared->answered, ++served)) {
		wait_while(&shared->asked, served);
		shared->error = read_all(counter, shared->value[shared->moment]);
	}
}

pid_t counter_start(struct counter *counter)
{
	struct counter_shared *shared;
	pid_t pid;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return -errno;
	counter->shared = shared;
	pid = fork();
	if (!pid)
		serve(counter);
	return pid < 0 ? -errno : pid;
}

/* Have the files read; false if that fails. */
static bool take(const struct counter *counter, unsigned int moment)
{
	struct counter_shared *shared = counter->shared;
	uint32_t before = shared->answered;

	shared->moment = moment;
	put(&shared->asked, before + 1);
	wait_while(&shared->answered, before);
	return !shared->error;
}

void counter_begin(struct counter *counter)
{
	counter->unread = !take(counter, 0);
	counter->unread |= !take(counter, 1);
}

void counter_end(struct counter *counter)
{
	counter->unread |= !take(counter, 2);
}

uint32_t counter_moved(const struct counter *counter, unsigned int index)
{
	const struct counter_shared *shared = counter->shared;
	uint64_t first = shared->value[0][index], second = shared->value[1][index];
	uint64_t moved = shared->value[2][index] - second - (second - first);

	return counter->unread || moved > COUNTER_UNREAD ? COUNTER_UNREAD : (uint32_t)moved;
}
