/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of the request that hold several words: separated by one space, each percent-encoded.
 */
#ifndef LSMETER_PROTOCOL_TEXT_H
#define LSMETER_PROTOCOL_TEXT_H

#include "protocol/limits.h"

#include <stdbool.h>
#include <stddef.h>

/* The words of a line; word[count] is NULL, as execve() wants it. */
struct words {
	size_t count;
	char *word[MAX_WORDS + 1];
	char text[WORDS_BYTES];
};

/* Split and decode `line`. Returns NULL, or what is wrong with it. */
const char *text_split(const char *line, struct words *words);

/* Read a number of digits, without a leading zero; false if it is none, or over the limit. */
bool text_number(const char *text, unsigned long limit, unsigned long *number);

#endif
