// SPDX-License-Identifier: GPL-2.0-only
/*
 * Injected costs - what the kernel command line says
 *
 *   inject=PLACE:SETTING[,SETTING...][;PLACE:SETTING...]
 *
 *   insns=N[+N...]  instructions; several are taken in turn
 *   share=P         in P of 100 calls, evenly spread
 *   random=P        in P of 100 calls (a multiple of 5), in no period
 *   every=N         in each Nth call
 *
 * A place must have insns and may have one of the others. 0 instructions are a
 * cost, too: a place that was named does all that it does for any other. The
 * place "blob" has "bytes=N" only: so much larger is what belongs to an inode.
 *
 * Nothing is injected unless all of it can be understood.
 */

#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "compat.h"
#include "inject.h"

#define INJECT_TEXT_MAX 1024

/* The parameter was given. What is wrong with it, or nothing. */
bool inject_given __ro_after_init;
char inject_error[INJECT_ERROR_MAX] __ro_after_init;

/* What the blob of an inode is to be larger by. */
unsigned int inject_bytes __ro_after_init;
bool inject_bytes_named __ro_after_init;

static char inject_text[INJECT_TEXT_MAX] __initdata;

static int __init inject_refuse(const char *what, const char *word)
{
	snprintf(inject_error, sizeof(inject_error), "%s: '%.40s'", what, word);
	pr_err("inject: %s, so nothing is injected\n", inject_error);
	return -EINVAL;
}

static int __init inject_number(const char *word, unsigned int least,
				unsigned int most, unsigned int *number)
{
	/* kstrtouint() takes signs and a newline, too. */
	if (!isdigit(*word) || kstrtouint(word, 10, number) ||
	    *number < least || *number > most)
		return inject_refuse("number out of range", word);
	return 0;
}

static int __init inject_parse_insns(struct inject_cost *cost, char *list)
{
	char *word;
	int error;

	if (cost->n_insns)
		return inject_refuse("insns given twice", list);
	while ((word = strsep(&list, "+"))) {
		if (cost->n_insns == INJECT_MAX_COSTS)
			return inject_refuse("too many costs", word);
		error = inject_number(word, 0, INJECT_MAX_INSNS,
				      &cost->insns[cost->n_insns]);
		if (error)
			return error;
		cost->n_insns++;
	}
	return 0;
}

static int __init inject_parse_shape(struct inject_cost *cost, const char *key,
				     const char *word)
{
	int error;

	if (cost->shape != INJECT_ALWAYS)
		return inject_refuse("two of share, random and every", word);
	if (!strcmp(key, "every")) {
		cost->shape = INJECT_EVERY;
		return inject_number(word, 2, INJECT_MAX_EVERY, &cost->number);
	}
	if (!strcmp(key, "share")) {
		cost->shape = INJECT_SHARE;
		return inject_number(word, 1, 99, &cost->number);
	}
	cost->shape = INJECT_RANDOM;
	error = inject_number(word, 5, 95, &cost->number);
	if (!error && cost->number * INJECT_BLOCK % 100)
		return inject_refuse("no multiple of 5", word);
	return error;
}

static int __init inject_parse_setting(struct inject_cost *cost, char *value)
{
	const char *key = strsep(&value, "=");

	if (!value)
		return inject_refuse("setting without a value", key);
	if (!strcmp(key, "insns"))
		return inject_parse_insns(cost, value);
	if (!strcmp(key, "share") || !strcmp(key, "random") ||
	    !strcmp(key, "every"))
		return inject_parse_shape(cost, key, value);
	return inject_refuse("unknown setting", key);
}

static int __init inject_parse_blob(char *value)
{
	const char *key = strsep(&value, "=");

	if (inject_bytes_named)
		return inject_refuse("place given twice", "blob");
	if (!value || strcmp(key, "bytes"))
		return inject_refuse("blob has bytes only", key);
	inject_bytes_named = true;
	return inject_number(value, 0, INJECT_MAX_BYTES, &inject_bytes);
}

static struct inject_place *__init inject_find(const char *name)
{
	int i;

	for (i = 0; i < INJECT_PLACES; i++)
		if (!strcmp(inject_places[i].name, name))
			return &inject_places[i];
	return NULL;
}

static int __init inject_parse_place(char *settings)
{
	const char *name = strsep(&settings, ":");
	struct inject_place *place;
	char *setting;
	int error;

	if (!settings)
		return inject_refuse("place without settings", name);
	if (!strcmp(name, "blob"))
		return inject_parse_blob(settings);
	place = inject_find(name);
	if (!place)
		return inject_refuse("unknown place", name);
	if (place->cost.named)
		return inject_refuse("place given twice", name);
	place->cost.named = true;
	while ((setting = strsep(&settings, ","))) {
		error = inject_parse_setting(&place->cost, setting);
		if (error)
			return error;
	}
	if (!place->cost.n_insns)
		return inject_refuse("no insns for the place", name);
	return 0;
}

static void __init inject_forget(void)
{
	int i;

	for (i = 0; i < INJECT_PLACES; i++)
		inject_places[i].cost = (struct inject_cost){};
	inject_bytes = 0;
	inject_bytes_named = false;
}

static int __init inject_parse(char *words)
{
	char *text = inject_text;
	char *place;
	int error;

	if (inject_given)
		error = inject_refuse("parameter given twice", words ?: "");
	else if (!words || strscpy(text, words, sizeof(inject_text)) < 0)
		error = inject_refuse("nothing, or too much to read", "");
	else
		error = 0;
	inject_given = true;
	while (!error && (place = strsep(&text, ";")))
		error = inject_parse_place(place);
	if (error)
		inject_forget();
	inject_blob_sizes.lbs_inode = INJECT_BLOB_BYTES + inject_bytes;
	return error;
}
early_param(INJECT_NAME, inject_parse);
