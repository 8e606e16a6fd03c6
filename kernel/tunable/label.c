// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tunable policy latency - names of labels
 */

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "tunable.h"

static const char *const tunable_names[] = {
	[TUNABLE_TRUSTED] = "trusted",
	[TUNABLE_UNTRUSTED] = "untrusted",
	[TUNABLE_IGNORED] = "ignored",
};

static_assert(ARRAY_SIZE(tunable_names) == TUNABLE_UNKNOWN);

/**
 * tunable_label_name - Name a label as user space knows it
 * @label: an enum tunable_label other than TUNABLE_UNKNOWN
 *
 * Return: the name, null-terminated.
 */
const char *tunable_label_name(u32 label)
{
	return tunable_names[label];
}

/**
 * tunable_label_parse - Find the label that an attribute's value names
 * @value: the name, with or without a terminating null
 * @size: bytes at @value
 *
 * Return: an enum tunable_label other than TUNABLE_UNKNOWN, or -EINVAL if
 * there is no such label.
 */
int tunable_label_parse(const void *value, size_t size)
{
	const char *text = value;
	int label;

	if (size && !text[size - 1])
		size--;
	for (label = 0; label < ARRAY_SIZE(tunable_names); label++) {
		if (size == strlen(tunable_names[label]) &&
		    !memcmp(text, tunable_names[label], size))
			return label;
	}
	return -EINVAL;
}
