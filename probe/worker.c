// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker.h"

#include "assistant.h"
#include "become.h"
#include "channel.h"
#include "count.h"
#include "delay.h"
#include "far.h"
#include "hold.h"
#include "pids.h"
#include "region.h"
#include "sample.h"
#include "slabs.h"
#include "spin.h"
#include "state.h"
#include "sys.h"
#include "tomoyo.h"
#include "turns.h"
#include "vary.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

/* Longest guest time that a quiet reading sleeps, or one that waits for a period and a tick. */
#define QUIET_MS 150

/* Guest time for the whole cost of one benchmark, beside that for its readings. */
#define WHOLE_MS 20000

/* Ticks over which an idle guest is watched, before the first benchmark and after the last. */
#define IDLE_TICKS 512

struct run {
	const struct request *request;
	const char *work;
	struct outcome *outcome;
	unsigned int index;
	const char *sweep;
};

static const char *enter(const struct run *run)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/b%04u", run->work, run->index);
	if (mkdir(path, 0755))
		return "making the benchmark's directory";
	if (run->request->ordinary_user && geteuid() == 0 &&
	    chown(path, ORDINARY_USER, ORDINARY_USER))
		return "giving the directory to the ordinary user";
	return chdir(path) ? "entering the benchmark's directory" : NULL;
}

static _Noreturn void work_and_exit(const struct run *run, struct bench *bench)
{
	struct outcome *outcome = run->outcome;
	const char *failed = enter(run);

	if (run->request->timed) /* nothing is left behind on a machine that goes on */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!failed && bench->variant->far && in_guest)
		failed = far_open(run->request, run->work);
	if (!failed)
		failed = become(run->request, run->work);
	if (failed) {
		outcome->failures = 1;
		outcome->error = errno;
		snprintf(outcome->detail, sizeof(outcome->detail), "%s: %s", failed,
			 strerror(errno));
	} else {
		region_announce(run->index);
		sample(bench, run->request, worker_assistant(), outcome);
	}
	outcome->finished = true;
	_exit(0);
}

/* Whether access checks take the delay of the sweep just now. */
static bool slow;

/* Begin or end the delay of the sweep; it is 0 while a benchmark is set up and cleared away. */
static void set_slow(const struct run *run, bool on)
{
	const char *failed = on ? NULL : delay_check();

	if (!failed)
		failed = delay_set(on ? run->sweep : "0");
	if (failed)
		channel_error("sweep: %s ns: %s", run->sweep, failed);
	slow = on;
}

/* Wait for the child until the deadline; true if it ended, with its status. */
static bool wait_until(const struct run *run, pid_t child, unsigned long deadline_ms, int *status)
{
	pid_t changed;
	struct timespec now, began, left;
	uint64_t waited_ns = turns_waited_ns();
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	clock_gettime(CLOCK_MONOTONIC, &began);
	while ((changed = waitpid(child, status, WNOHANG | WUNTRACED)) != child ||
	       WIFSTOPPED(*status)) {
		long left_ns;

		if (changed == child) {
			if (run->sweep)
				set_slow(run, !slow);
			kill(child, SIGCONT);
			continue;
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
		left_ns = (began.tv_sec - now.tv_sec) * 1000000000L + began.tv_nsec - now.tv_nsec +
			  (long)deadline_ms * 1000000 + (long)(turns_waited_ns() - waited_ns);
		if (left_ns <= 0)
			return false;
		left = (struct timespec){left_ns / 1000000000L, left_ns % 1000000000L};
		sigtimedwait(&set, NULL, &left);
	}
	return true;
}

/* What the hooks were run in each reading; a hook that never ran is not named. */
static void send_counts(const struct run *run)
{
	const struct outcome *outcome = run->outcome;
	unsigned int size = hook_count_size();

	for (unsigned int hook = 0; hook < size; hook++) {
		const uint32_t *first = outcome->calls + hook;
		uint32_t any = 0;

		for (size_t i = 0; i < outcome->count; i++)
			any |= first[i * size];
		if (any)
			channel_counts(run->index, hook_count_name(hook), first, outcome->count,
				       size);
	}
}

/* What whole cycles cost: all rounds that were finished, and why there are no more. */
static void send_whole(const struct run *run, bool ended)
{
	const struct whole *whole = &run->outcome->whole;
	const char *word = "ok";
	const char *detail = whole->detail;

	for (unsigned int i = 0; i < whole->rounds; i++)
		channel_round(run->index, &whole->round[i], run->request->icount_shift);
	if (*detail) {
		word = "failed";
	} else if (!whole->finished) { /* killed, or ended by itself */
		word = ended ? "crashed" : "timeout";
		detail = "whole cycles were not finished";
	}
	channel_whole(run->index, word, whole->error, detail);
}

static void send_end(const struct run *run, bool ended, int status, unsigned long deadline_ms)
{
	struct outcome *outcome = run->outcome;
	const char *word = "ok";
	size_t count = 0;
	char detail[160];

	snprintf(detail, sizeof(detail), "%s", outcome->detail);
	if (outcome->sampled && !outcome->failures && !outcome->skipped) {
		/* Whatever became of the whole cost, the readings are good. */
		count = outcome->count;
	} else if (!ended) {
		word = "timeout";
		snprintf(detail, sizeof(detail), "not finished in %lu ms of guest time",
			 deadline_ms);
	} else if (!outcome->finished) {
		word = "crashed";
		if (WIFSIGNALED(status))
			snprintf(detail, sizeof(detail), "killed by signal %d (%s)",
				 WTERMSIG(status), strsignal(WTERMSIG(status)));
		else
			snprintf(detail, sizeof(detail), "left with status %d",
				 WEXITSTATUS(status));
	} else if (outcome->skipped) {
		word = "skipped";
	} else if (outcome->failures) {
		word = "failed";
	}
	channel_samples(run->index, outcome->value, count);
	if (count)
		channel_ticked(run->index, outcome->ticked_at, outcome->ticked);
	if (count && run->request->count)
		send_counts(run);
	if (count && run->outcome->whole.begun)
		send_whole(run, ended);
	channel_end(run->index, word, count, outcome->failures, outcome->error, detail);
	if (count && run->request->timed)
		timing_send(run->request->benchmark[run->index], &outcome->timing,
			    (unsigned int)count);
}

static void run_one(const struct run *run, const char *id)
{
	const struct request *request = run->request;
	unsigned long deadline_ms = request->benchmark_deadline_ms;
	struct bench *bench = vary_place(request->vary, run->index);
	int status = 0;
	bool ended = true;
	pid_t child;

	if (request->whole_ppm)
		deadline_ms += WHOLE_MS;
	bench_find(request->suite, id, bench);
	if (request->quiet || bench->op->settles)
		deadline_ms += QUIET_MS * (request->warmup + request->samples);
	*run->outcome = (struct outcome){
		.index = run->index,
		.calls = run->outcome->calls,
		.ticked_at = run->outcome->ticked_at,
	};
	channel_begin(run->index, id, run->sweep);
	state_send(request, run->index, "before");
	channel_drain();
	child = fork();
	if (child == 0)
		work_and_exit(run, bench);
	if (child < 0) {
		channel_end(run->index, "failed", 0, 1, errno, "no process could be made");
		return;
	}
	turns_measure(true);
	ended = wait_until(run, child, deadline_ms, &status);
	if (!ended) {
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
	turns_measure(false);
	if (slow)
		set_slow(run, false);
	turns_take();
	while (turns_taken() && run->outcome->passes++ < 1 + TURNS_ROUNDS) {
		turns_pass();
		turns_take();
	}
	state_send(request, run->index, "after");
	send_end(run, ended, status, deadline_ms);
	channel_drain();
}

static bool begin_sweep(const char *value)
{
	struct delay_wait wait = {0};
	const char *failed = delay_measure(value, &wait);
	char key[64];

	if (failed) {
		channel_error("sweep: %s ns: %s", value, failed);
		return false;
	}
	snprintf(key, sizeof(key), "policy.%s", value);
	channel_fact(key, "%" PRIu64 " %" PRIu64, wait.inode_ns, wait.file_ns);
	return true;
}

/* Shared with the workers, and touched here: no worker is to pay for its pages. */
static struct outcome *make_outcome(const struct request *request)
{
	size_t ticked_at = sizeof(struct outcome) + request->samples * sizeof(uint64_t);
	size_t calls_at = ticked_at + request->samples * sizeof(uint32_t);
	size_t columns = request->count ? hook_count_size() : 0;
	size_t size = calls_at + request->samples * columns * sizeof(uint32_t);
	struct outcome *outcome =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (outcome == MAP_FAILED) {
		channel_error("no memory for %lu samples", request->samples);
		return NULL;
	}
	memset(outcome, 0, size);
	outcome->ticked_at = (uint32_t *)(void *)((char *)outcome + ticked_at);
	outcome->calls = (uint32_t *)(void *)((char *)outcome + calls_at);
	return outcome;
}

static void block_child_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* What the guest takes for itself while it does nothing. */
static void watch_idle(const struct request *request)
{
	struct spin spin;

	if (!request->whole_ppm)
		return;
	region_announce(REGION_IDLE);
	region_begin();
	spin_idle(IDLE_TICKS, &spin);
	region_end();
	channel_idle(spin.elapsed >> request->icount_shift, spin.taken >> request->icount_shift,
		     spin.interruptions);
	channel_drain();
}

static void wear_slabs(const char *work)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/worn", work);
	channel_fact("slabs.worn", "%d", slabs_wear(path));
}

void worker_vary(const struct request *request, const char *work)
{
	struct held held;

	vary_guest(request->vary);
	if (!request->vary || request->timed)
		return;
	held = hold_begin(request->suite && strcmp(request->suite, "file"));
	channel_fact("pages.held", "%d", held.pages);
	channel_fact("names.held", "%d", held.names);
	channel_fact("datagrams.held", "%d", held.datagrams);
	channel_fact("sockets.held", "%d", held.sockets);
	vary_watch(request->suite, work);
	wear_slabs(work);
}

unsigned int worker_run_all(const struct request *request, const char *work)
{
	struct run run = {.request = request, .work = work, .outcome = make_outcome(request)};
	size_t rounds = request->n_sweep_values ? request->n_sweep_values : 1;

	if (!run.outcome)
		return 0;
	block_child_signal();
	worker_vary(request, work);
	if (request->vary && !request->timed)
		channel_fact("pids.held", "%d", pids_hold_nodes());
	watch_idle(request);
	turns_begin();
	turns_take();
	for (size_t round = 0; round < rounds; round++) {
		if (request->sweep_control) {
			run.sweep = request->sweep_value[round];
			if (!begin_sweep(run.sweep))
				break;
		}
		for (size_t i = 0; i < request->n_benchmarks; i++) {
			run_one(&run, request->benchmark[i]);
			run.index++;
		}
	}
	turns_leave();
	watch_idle(request);
	return run.index;
}

unsigned int worker_run_timed(const struct request *request, const char *work)
{
	unsigned int begun;

	if (request->timed)
		timing_open(&request->spin);
	begun = worker_run_all(request, work);
	if (request->timed)
		timing_close();
	return begun;
}
