// SPDX-License-Identifier: GPL-2.0-or-later
#include "workload/services.h"

#include "observe/processes.h"
#include "protocol/channel.h"
#include "protocol/text.h"

#include <stdio.h>

/* Whatever their names are. */
static void every_context(const char *key)
{
	char contexts[1000];

	processes_contexts(NULL, contexts, sizeof(contexts));
	channel_fact(key, "%s", contexts);
}

void services_facts(const struct request *request)
{
	char key[LINE_BYTES], contexts[1000];
	struct words words;

	every_context("services.contexts");
	for (size_t i = 0; i < request->n_services; i++) {
		text_split(request->service[i], &words);
		snprintf(key, sizeof(key), "service.%.60s.processes", words.word[0]);
		channel_fact(key, "%u", processes_count(words.word[1]));
		snprintf(key, sizeof(key), "service.%.60s.contexts", words.word[0]);
		processes_contexts(words.word[1], contexts, sizeof(contexts));
		channel_fact(key, "%s", contexts);
	}
}

void services_facts_after(const struct request *request)
{
	struct words words;
	char key[80];

	for (size_t i = 0; i < request->n_services; i++) {
		text_split(request->service[i], &words);
		snprintf(key, sizeof(key), "service.%.60s.after", words.word[0]);
		channel_fact(key, "%u", processes_count(words.word[1]));
	}
	every_context("services.contexts.after");
}
