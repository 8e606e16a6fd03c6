// SPDX-License-Identifier: GPL-2.0-or-later
#include "state.h"

#include "channel.h"
#include "words.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Percent-encoded, this much fits into a line of the channel. */
#define STATE_BYTES 1200

static const char *read_state(const char *path, char *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return strerror(errno);
	n = read(fd, text, STATE_BYTES - 1);
	close(fd);
	if (n < 0)
		return strerror(errno);
	text[n] = '\0';
	return NULL;
}

void state_facts(const struct request *request)
{
	struct words words;
	char text[STATE_BYTES];

	for (size_t i = 0; i < request->n_reads; i++) {
		const char *failed = words_split(request->read[i], &words);

		if (!failed && words.count != 2)
			failed = "it must be a name and a path";
		if (!failed)
			failed = read_state(words.word[1], text);
		if (failed) {
			channel_error("fact '%.60s': %s", request->read[i], failed);
			continue;
		}
		text[strcspn(text, "\n")] = '\0';
		channel_fact(words.word[0], "%s", text);
	}
}

void state_send(const struct request *request, unsigned int index, const char *moment)
{
	struct words words;
	char text[STATE_BYTES];

	for (size_t i = 0; i < request->n_states; i++) {
		const char *failed = words_split(request->state[i], &words);

		if (!failed && words.count != 2)
			failed = "it must be a name and a path";
		if (!failed)
			failed = read_state(words.word[1], text);
		if (failed)
			channel_error("state '%.60s': %s", request->state[i], failed);
		else
			channel_state(index, words.word[0], moment, text);
	}
}
