/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of the request that hold several words: separated by one space, each percent-encoded.
 */
#ifndef LSMETER_WORDS_H
#define LSMETER_WORDS_H

#include <stddef.h>

#define MAX_WORDS  32
#define LINE_WORDS 4096

/* The words of a line; word[count] is NULL, as execve() wants it. */
struct words {
	size_t count;
	char *word[MAX_WORDS + 1];
	char text[LINE_WORDS];
};

/* Split and decode `line`. Returns NULL, or what is wrong with it. */
const char *words_split(const char *line, struct words *words);

#endif
