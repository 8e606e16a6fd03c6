// SPDX-License-Identifier: GPL-2.0-or-later
#include "init/state.h"

#include "protocol/channel.h"
#include "protocol/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Percent-encoded, this much fits into a line of the channel. */
#define STATE_BYTES 1200

/* Split `line`, a name and a path, and read the file. Returns NULL, or what went wrong. */
static const char *read_named(const char *line, struct words *words, char *text)
{
	const char *failed = text_split(line, words);
	ssize_t n;
	int fd;

	if (failed)
		return failed;
	if (words->count != 2)
		return "it must be a name and a path";
	fd = open(words->word[1], O_RDONLY | O_CLOEXEC);
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
		const char *failed = read_named(request->read[i], &words, text);

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
		const char *failed = read_named(request->state[i], &words, text);

		if (failed)
			channel_error("state '%.60s': %s", request->state[i], failed);
		else
			channel_state(index, words.word[0], moment, text);
	}
}
