// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/text.h"

#include <string.h>

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Decode in place; false for a percent sign without two hex digits, or an encoded NUL. */
static bool decode(char *text)
{
	char *to = text;

	for (; *text; text++) {
		int high, low;

		if (*text != '%') {
			*to++ = *text;
			continue;
		}
		high = digit(text[1]);
		low = high < 0 ? -1 : digit(text[2]);
		if (low < 0 || !(high << 4 | low))
			return false;
		*to++ = (char)(high << 4 | low);
		text += 2;
	}
	*to = '\0';
	return true;
}

const char *text_split(const char *line, struct words *words)
{
	char *rest = words->text;

	words->count = 0;
	if (strlen(line) >= sizeof(words->text))
		return "the line is too long";
	strcpy(words->text, line);
	while (rest) {
		char *word = strsep(&rest, " ");

		if (!*word)
			return "an empty word";
		if (words->count == MAX_WORDS)
			return "too many words";
		words->word[words->count++] = word;
	}
	words->word[words->count] = NULL;
	for (size_t i = 0; i < words->count; i++) {
		if (!decode(words->word[i]))
			return "a word is not percent-encoded as it must be";
	}
	return NULL;
}

bool text_number(const char *value, unsigned long limit, unsigned long *result)
{
	*result = 0;
	if (!*value || (value[0] == '0' && value[1]))
		return false;
	for (; *value; value++) {
		if (*value < '0' || *value > '9')
			return false;
		*result = *result * 10 + (unsigned long)(*value - '0');
		if (*result > limit)
			return false;
	}
	return true;
}
