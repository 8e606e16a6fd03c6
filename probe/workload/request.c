// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/text.h"
#include "workload/workload.h"

#include <stdio.h>
#include <string.h>

/* The words of a line that has at least so many; NULL if it has fewer. */
static const struct words *split(const char *line, size_t least)
{
	static struct words words;

	return text_split(line, &words) || words.count < least ? NULL : &words;
}

/* Do two lines begin with the same word? */
static bool repeated(const char *const *line, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t size = strcspn(line[i], " ") + 1;

		for (size_t k = 0; k < i; k++) {
			if (!strncmp(line[i], line[k], size))
				return true;
		}
	}
	return false;
}

static const char *command_wrong(const struct request *request)
{
	const struct words *words;
	unsigned long status;

	if (!request->n_commands)
		return request->n_environment ? "environment needs command" : NULL;
	words = split(request->command[0], 2);
	if (!words || words->word[0][0] != '/' || !text_number(words->word[1], 255, &status))
		return "command needs DIRECTORY STATUS";
	if (request->n_clients != 1 || request->samples != 1 || request->warmup ||
	    request->n_services || request->timed || request->ordinary_user)
		return "command goes with one client, which runs once, counted, as root";
	for (size_t i = 0; i < request->n_environment; i++) {
		words = split(request->environment[i], 1);
		if (!words || words->count > 1 || !strchr(words->word[0], '='))
			return "environment needs NAME=VALUE";
	}
	return NULL;
}

static const char *client_wrong(const char *line)
{
	const struct words *words = split(line, 4);
	unsigned long units;

	if (!words)
		return "client needs ID UNITS ACCOUNT PROGRAM";
	if (!text_number(words->word[1], MAX_UNITS, &units) || !units)
		return "the units of a client must be a number from 1 to 1000000000";
	if (strcmp(words->word[2], "client") && strcmp(words->word[2], "service"))
		return "the account of a client must be client or service";
	return NULL;
}

/* One client for each benchmark, and one benchmark for each client. */
static bool clients_match(const struct request *request)
{
	bool taken[MAX_BENCHMARKS] = {false};

	if (request->n_clients != request->n_benchmarks)
		return false;
	for (size_t i = 0; i < request->n_clients; i++) {
		const char *id = split(request->client[i], 1)->word[0];
		size_t found = 0, last = 0;

		for (size_t at = 0; at < request->n_benchmarks; at++) {
			if (strcmp(id, request->benchmark[at]))
				continue;
			found++;
			last = at;
		}
		if (found != 1 || taken[last])
			return false;
		taken[last] = true;
	}
	return true;
}

const char *workload_wrong(const struct request *request)
{
	const char *wrong;

	if (!request->n_clients)
		return request->n_prepare || request->n_services || request->n_ready ||
				       request->n_asks || request->settle_ms ||
				       request->monitor_ms || request->n_commands ||
				       request->n_environment
			       ? "prepare, service, ready, ask, settle_ms, monitor_ms, command and "
				 "environment need client"
			       : NULL;
	wrong = command_wrong(request);
	if (wrong)
		return wrong;
	if (request->cold || request->quiet || request->count || request->whole_ppm ||
	    request->sweep_control || request->n_before ||
	    (request->landlock.layers && !request->n_commands))
		return "client goes with neither cold, quiet, count, whole_ppm, sweep, before nor "
		       "landlock";
	for (size_t i = 0; i < request->n_clients; i++) {
		wrong = client_wrong(request->client[i]);
		if (wrong)
			return wrong;
	}
	if (!clients_match(request))
		return "every benchmark needs exactly one client";
	for (size_t i = 0; i < request->n_services; i++) {
		const struct words *words = split(request->service[i], 3);

		if (!words || strlen(words->word[1]) > PROCESS_BYTES)
			return "service needs NAME PROCESS PROGRAM, of PROCESS at most 15 bytes";
	}
	for (size_t i = 0; i < request->n_asks; i++) {
		if (!split(request->ask[i], 2))
			return "ask needs NAME PROGRAM";
	}
	if (repeated(request->service, request->n_services) ||
	    repeated(request->ask, request->n_asks))
		return "two services or two asks have one name";
	return NULL;
}
