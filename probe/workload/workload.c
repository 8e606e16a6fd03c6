// SPDX-License-Identifier: GPL-2.0-or-later
#include "workload/workload.h"

#include "arch/mark.h"
#include "arch/sys.h"
#include "init/state.h"
#include "layout/own_memory.h"
#include "layout/perturbation.h"
#include "observe/monitor.h"
#include "observe/processes.h"
#include "protocol/channel.h"
#include "protocol/text.h"
#include "sampler/region.h"
#include "sampler/timing.h"
#include "sampler/worker.h"
#include "workload/command.h"
#include "workload/program.h"
#include "workload/services.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

/* Guest time in which a service must be ready, that one try has at least, and between two tries. */
#define READY_MS 60000
#define TRY_MS	 1000
#define RETRY_MS 50

/* The batches of all benchmarks. */
struct run {
	const struct request *request;
	struct monitor *monitor; /* NULL: not asked for */
	uint64_t *value;
	unsigned int batches; /* so far */
};

/* How a benchmark ended. */
struct ending {
	const char *status;
	char detail[FAILURE_BYTES];
};

static char failure[FAILURE_BYTES + 100];
static char output[OUTPUT_BYTES] BULK; /* of a command */

static long now_ms(void)
{
	return (long)(now_ns() / 1000000);
}

static void sleep_ms(unsigned long ms)
{
	const struct timespec time = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};

	if (ms)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/* The same as sleep_ms(), with the moments that fall into it. */
static void settle(const struct request *request, struct monitor *monitor)
{
	long end_ms = now_ms() + (long)request->settle_ms, left_ms;

	while (monitor && (left_ms = end_ms - now_ms()) > 0) {
		struct timespec left = {left_ms / 1000, left_ms % 1000 * 1000000};

		monitor_wake(monitor, &left);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &left, NULL);
	}
	if (!monitor)
		sleep_ms(request->settle_ms);
}

/* request_parse() has seen that it can be taken apart. */
static const struct words *words_of(const char *line)
{
	static struct words words;

	text_split(line, &words);
	return &words;
}

void workload_once(const struct request *request, size_t number)
{
	if (!request->n_clients)
		return;
	region_announce((unsigned int)(request->n_benchmarks + number));
	region_begin();
}

void workload_once_done(const struct request *request)
{
	if (request->n_clients)
		region_end();
}

static const char *prepare(const struct request *request)
{
	for (size_t i = 0; i < request->n_prepare; i++) {
		const struct words *words = words_of(request->prepare[i]);
		struct program program = {.word = words->word, .deadline_ms = PROGRAM_MS};
		bool done;

		workload_once(request, request->n_steps + i);
		done = program_run(&program);
		workload_once_done(request);
		if (done)
			continue;
		snprintf(failure, sizeof(failure), "prepare %zu: %s", i + 1,
			 program_failure(&program));
		return failure;
	}
	return NULL;
}

static const char *start_services(const struct request *request)
{
	for (size_t i = 0; i < request->n_services; i++) {
		const struct words *words = words_of(request->service[i]);
		struct program program = {
			.word = words->word + 2,
			.account = ACCOUNT_SERVICE,
			.deadline_ms = PROGRAM_MS,
		};

		if (program_run(&program))
			continue;
		snprintf(failure, sizeof(failure), "service %.60s: %s", words->word[0],
			 program_failure(&program));
		return failure;
	}
	return NULL;
}

static const char *wait_until_ready(const struct request *request)
{
	for (size_t i = 0; i < request->n_ready; i++) {
		const struct words *words = words_of(request->ready[i]);
		long end_ms = now_ms() + READY_MS, left_ms = READY_MS;

		for (;;) {
			struct program program = {
				.word = words->word,
				.deadline_ms = (unsigned long)left_ms,
				.alone = true,
			};

			if (program_run(&program))
				break;
			sleep_ms(RETRY_MS);
			left_ms = end_ms - now_ms();
			if (left_ms >= TRY_MS)
				continue;
			snprintf(failure, sizeof(failure), "service not ready: %s",
				 program_reason(&program));
			return failure;
		}
	}
	return NULL;
}

static void ask(const struct request *request)
{
	for (size_t i = 0; i < request->n_asks; i++) {
		const struct words *words = words_of(request->ask[i]);
		struct program program = {
			.word = words->word + 1,
			.account = ACCOUNT_CLIENT,
			.deadline_ms = PROGRAM_MS,
			.alone = true,
		};
		char key[80];

		snprintf(key, sizeof(key), "ask.%.60s", words->word[0]);
		if (program_run(&program))
			channel_fact(key, "%s", program.first_line);
		else if (program.ended && WIFEXITED(program.status))
			channel_fact(key, "failed %d: %s", WEXITSTATUS(program.status),
				     program.last_line);
		else
			channel_fact(key, "failed: %s", program_failure(&program));
	}
}

const char *workload_start(const struct request *request, const char *work)
{
	const char *failed;

	worker_perturb(request, work);
	if (!request->timed && !perturb_mappings(request->vary))
		return "the limit of stacks cannot be set";
	failed = request->n_commands ? command_prepare(request, work) : NULL;
	if (failed) {
		snprintf(failure, sizeof(failure), "%s: %s", failed, strerror(errno));
		return failure;
	}
	/* Copying a tree takes more than twice as long where everything is counted. */
	if (request->n_commands)
		mark_account(ACCOUNT_DRIVER);
	failed = prepare(request);
	if (failed)
		return failed;
	workload_once(request, request->n_steps + request->n_prepare);
	failed = start_services(request);
	if (!failed)
		failed = wait_until_ready(request);
	workload_once_done(request);
	if (failed)
		return failed;
	services_facts(request);
	ask(request);
	return NULL;
}

/* Processes whose parents have ended are children of the first process. */
static void reap(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static const struct words *client_of(const struct request *request, const char *benchmark)
{
	const struct words *words = NULL;

	for (size_t i = 0; i < request->n_clients; i++) {
		words = words_of(request->client[i]);
		if (!strcmp(words->word[0], benchmark))
			break;
	}
	return words;
}

/*
 * One batch; false if the client failed. What it took, in instructions or in ticks of the clock,
 * goes into `took`.
 */
static bool run_batch(const struct run *run, unsigned int index, const struct words *client,
		      struct program *program, uint64_t *took)
{
	const struct request *request = run->request;
	uint64_t first;

	*program = (struct program){
		.word = client->word + 3,
		.account = strcmp(client->word[2], "service") ? ACCOUNT_CLIENT : ACCOUNT_SERVICE,
		.deadline_ms = request->benchmark_deadline_ms,
		.alone = true,
		.in_tree = request->n_commands,
		.kept = request->n_commands ? output : NULL,
		.expected = request->n_commands ? command_expected() : 0,
		.monitor = run->monitor,
	};
	if (run->monitor)
		monitor_batch(run->monitor, MOMENT_BEGIN);
	program_prepare(program);
	region_announce(index);
	region_begin();
	first = request->timed ? timing_now() : counter_now();
	program_carry_out(program);
	if (request->timed)
		*took = timing_now() - first; /* what was put off is not waited for by a client */
	settle(request, run->monitor);
	if (!request->timed)
		*took = (counter_now() - first) >> request->icount_shift;
	region_end();
	if (run->monitor)
		monitor_batch(run->monitor, MOMENT_END);
	reap();
	return program_finish(program);
}

/* All batches of a benchmark; how many samples there are. */
static size_t run_batches(struct run *run, unsigned int index, struct ending *ending)
{
	const struct request *request = run->request;
	const struct words *client = client_of(request, request->benchmark[index]);
	size_t count = 0;

	for (unsigned long i = 0; i < request->warmup + request->samples; i++) {
		static struct program program;
		uint64_t took = 0;
		bool ran;

		/* Which objects of slabs are next in turn is the same for all units of a batch. */
		if (!request->timed)
			perturb_batch(request->vary, ++run->batches);
		ran = run_batch(run, index, client, &program, &took);
		if (run->monitor) {
			monitor_send(run->monitor, index, (unsigned int)i);
			channel_drain();
		}
		if (request->n_commands)
			command_facts(&program);
		if (!ran) {
			ending->status = program.error == ETIMEDOUT ? "timeout" : "failed";
			snprintf(ending->detail, sizeof(ending->detail), "%s",
				 request->n_commands ? program_failure(&program)
						     : program_reason(&program));
			break;
		}
		if (i < request->warmup)
			continue;
		run->value[count++] = took;
		channel_said(index, program.last_line);
		channel_drain();
	}
	return count;
}

/* A service that is gone; NULL: none is. */
static const char *service_gone(const struct request *request)
{
	for (size_t i = 0; i < request->n_services; i++) {
		const struct words *words = words_of(request->service[i]);

		if (!processes_count(words->word[1]))
			return words->word[0];
	}
	return NULL;
}

static void run_benchmark(struct run *run, unsigned int index)
{
	const struct request *request = run->request;
	struct ending ending = {.status = "ok", .detail = ""};
	char detail[sizeof(ending.detail) + 200], key[128];
	const char *gone;
	size_t count;

	channel_begin(index, request->benchmark[index], NULL);
	state_send(request, index, "before");
	channel_drain();
	count = run_batches(run, index, &ending);
	gone = service_gone(request);
	snprintf(detail, sizeof(detail), "%s", ending.detail);
	if (gone) {
		/* That is the reason; what the client said of it comes after. */
		ending.status = "failed";
		snprintf(detail, sizeof(detail), "service %.60s has no process left%s%s", gone,
			 *ending.detail ? ": " : "", ending.detail);
	}
	if (strcmp(ending.status, "ok"))
		count = 0;
	state_send(request, index, "after");
	channel_samples(index, run->value, count);
	channel_end(index, ending.status, count, !count, 0, detail);
	if (count && request->timed) {
		snprintf(key, sizeof(key), "timing.operations.%.100s", request->benchmark[index]);
		channel_fact(key, "%s", client_of(request, request->benchmark[index])->word[1]);
	}
	channel_drain();
}

/* Whose network is watched: the first service's. */
static const char *monitored(const struct request *request)
{
	return request->n_services ? words_of(request->service[0])->word[1] : "";
}

unsigned int workload_measure(const struct request *request)
{
	struct run run = {.request = request,
			  .value = calloc(request->samples, sizeof(*run.value))};
	unsigned int index = 0;

	if (request->monitor_ms)
		run.monitor = monitor_open(request->monitor_ms, monitored(request));
	if (request->monitor_ms && !run.monitor) {
		channel_error("no memory to monitor");
		return 0;
	}
	if (!run.value) {
		channel_error("no memory for %lu samples", request->samples);
		return 0;
	}
	for (; index < request->n_benchmarks; index++)
		run_benchmark(&run, index);
	free(run.value);
	services_facts_after(request);
	return index;
}
