// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/worker.h"

#include "arch/sys.h"
#include "init/state.h"
#include "layout/own_memory.h"
#include "layout/perturbation.h"
#include "layout/pids.h"
#include "layout/slab_pinning.h"
#include "layout/slabs.h"
#include "net/baseline.h"
#include "net/peer.h"
#include "policy/become.h"
#include "policy/delay.h"
#include "policy/landlock.h"
#include "policy/tomoyo.h"
#include "protocol/channel.h"
#include "sampler/assistant.h"
#include "sampler/copies.h"
#include "sampler/outcome.h"
#include "sampler/region.h"
#include "sampler/sample.h"
#include "sampler/scheduling.h"

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
#define QUIET_MS 330

/* Guest time for the whole cost of one benchmark, beside that for its readings. */
#define WHOLE_MS 20000

struct run {
	const struct session *session;
	const struct request *request;
	const struct scheduling *scheduling;
	struct outcomes outcomes;
	struct copies copies;
	struct own_memory memory;
	unsigned int index;
	const char *sweep;
	bool slow; /* access checks take the delay of the sweep just now */
};

static const char *enter(const struct run *run, unsigned int place)
{
	char path[256];

	snprintf(path, sizeof(path), place ? "%s/b%04u.%u" : "%s/b%04u", run->session->work,
		 run->index, place);
	if (mkdir(path, 0755))
		return "making the benchmark's directory";
	if (run->request->ordinary_user && geteuid() == 0 &&
	    chown(path, ORDINARY_USER, ORDINARY_USER))
		return "giving the directory to the ordinary user";
	return chdir(path) ? "entering the benchmark's directory" : NULL;
}

static _Noreturn void work_and_exit(struct run *run, struct bench *bench, unsigned int place)
{
	struct outcome *outcome = outcome_of(&run->outcomes, place);
	struct sampling sampling = {.bench = bench,
				    .request = run->request,
				    .scheduling = run->scheduling,
				    .counts = run->session->counts,
				    .outcome = outcome};
	int error;
	const char *failed = copies_enter(&run->copies, place) ? "staying on a CPU of its own"
							       : enter(run, place);

	if (run->request->timed) /* nothing is left behind on a machine that goes on */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!failed && bench->variant->in_peer && in_guest)
		failed = peer_open(run->request, run->session->work);
	if (!failed &&
	    (error = assistant_start(&sampling.assistant, run->request, sampling.counts))) {
		errno = -error;
		failed = "starting the process that keeps its privileges";
	}
	landlock_withhold(bench->op->withheld);
	if (!failed)
		failed = become(run->request, run->session->work);
	own_memory_touch(&run->memory);
	if (failed) {
		outcome->failures = 1;
		outcome->error = errno;
		snprintf(outcome->detail, sizeof(outcome->detail), "%s: %s", failed,
			 strerror(errno));
	} else {
		region_announce(run->index);
		bench->copy = place;
		sampling.copies = run->copies;
		sample(&sampling);
	}
	outcome->finished = true;
	_exit(0);
}

/* Begin or end the delay of the sweep; it is 0 while a benchmark is set up and cleared away. */
static void set_slow(struct run *run, bool on)
{
	struct delay *delay = run->session->delay;
	const char *failed = on ? NULL : delay_check(delay);

	if (!failed)
		failed = delay_set(delay, on ? run->sweep : "0");
	if (failed)
		channel_error("sweep: %s ns: %s", run->sweep, failed);
	run->slow = on;
}

/* Whether every copy has ended; what stops is told to go on. */
static bool all_ended(struct run *run, const pid_t *child)
{
	bool all = true;

	for (unsigned int place = 0; place < run->outcomes.copies; place++) {
		struct outcome *outcome = outcome_of(&run->outcomes, place);
		int status;

		if (outcome->ended)
			continue;
		if (waitpid(child[place], &status, WNOHANG | WUNTRACED) != child[place]) {
			all = false;
		} else if (WIFSTOPPED(status)) {
			if (run->sweep)
				set_slow(run, !run->slow);
			kill(child[place], SIGCONT);
			all = false;
		} else {
			outcome->ended = true;
			outcome->status = status;
			if (!outcome->finished || !outcome->sampled)
				copies_break(&run->copies);
		}
	}
	return all;
}

/* Wait for all copies until the deadline, and kill what has not ended then. */
static void wait_for(struct run *run, const pid_t *child, unsigned long deadline_ms)
{
	struct timespec now, began, left;
	uint64_t waited_ns = scheduling_waited_ns(run->scheduling);
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	clock_gettime(CLOCK_MONOTONIC, &began);
	while (!all_ended(run, child)) {
		long left_ns;

		clock_gettime(CLOCK_MONOTONIC, &now);
		left_ns = (began.tv_sec - now.tv_sec) * 1000000000L + began.tv_nsec - now.tv_nsec +
			  (long)deadline_ms * 1000000 +
			  (long)(scheduling_waited_ns(run->scheduling) - waited_ns);
		if (left_ns <= 0)
			break;
		left = (struct timespec){left_ns / 1000000000L, left_ns % 1000000000L};
		sigtimedwait(&set, NULL, &left);
	}
	for (unsigned int place = 0; place < run->outcomes.copies; place++) {
		if (outcome_of(&run->outcomes, place)->ended)
			continue;
		kill(child[place], SIGKILL);
		waitpid(child[place], NULL, 0);
	}
}

/* Make the process of each copy; false: one could not be made, and there is none. */
static bool make_copies(struct run *run, struct bench *bench, pid_t *child)
{
	copies_renew(&run->copies);
	for (unsigned int place = 0; place < run->outcomes.copies; place++) {
		child[place] = fork();
		if (child[place] == 0)
			work_and_exit(run, bench, place);
		if (child[place] > 0)
			continue;
		channel_end(run->index, "failed", 0, 1, errno, "no process could be made");
		while (place-- > 0) {
			kill(child[place], SIGKILL);
			waitpid(child[place], NULL, 0);
		}
		return false;
	}
	return true;
}

/* What a worker left behind when it ended is this program's in a guest, which has few numbers. */
static void bury_orphans(void)
{
	while (in_guest && waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static void run_one(struct run *run, const char *id)
{
	const struct request *request = run->request;
	unsigned long deadline_ms = request->benchmark_deadline_ms;
	struct bench *bench = perturb_bench(request->vary, run->index);
	struct outcome *outcome = outcome_of(&run->outcomes, 0);
	static pid_t child[MAX_COPIES];

	if (request->whole_ppm)
		deadline_ms += WHOLE_MS;
	bench_find(request->suite, id, bench);
	if (request->quiet || bench->op->settles)
		deadline_ms += QUIET_MS * (request->warmup + request->samples);
	outcomes_renew(&run->outcomes, run->index);
	bury_orphans();
	channel_begin(run->index, id, run->sweep);
	state_send(request, run->index, "before");
	channel_drain();
	if (!make_copies(run, bench, child))
		return;
	scheduling_measure(run->scheduling, true);
	wait_for(run, child, deadline_ms);
	scheduling_measure(run->scheduling, false);
	if (run->slow)
		set_slow(run, false);
	scheduling_acquire(run->scheduling);
	while (scheduling_active(run->scheduling) && outcome->passes++ < 1 + SCHEDULING_ROUNDS) {
		scheduling_release(run->scheduling);
		scheduling_acquire(run->scheduling);
	}
	state_send(request, run->index, "after");
	outcomes_join(&run->outcomes);
	outcome_send(request, run->session->counts, outcome, deadline_ms);
	channel_drain();
}

static bool begin_sweep(struct delay *delay, const char *value)
{
	struct delay_wait wait = {0};
	const char *failed = delay_measure(delay, value, &wait);
	char key[64];

	if (failed) {
		channel_error("sweep: %s ns: %s", value, failed);
		return false;
	}
	snprintf(key, sizeof(key), "policy.%s", value);
	channel_fact(key, "%" PRIu64 " %" PRIu64, wait.inode_ns, wait.file_ns);
	return true;
}

static void block_child_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void wear_slabs(const char *work)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/worn", work);
	channel_fact("slabs.worn", "%d", slabs_wear(path));
}

/* Where a socket lies tells in a request to a service, but not in the millions of a command. */
static enum pinning pinning_of(const struct request *request)
{
	if (request->n_commands)
		return PINNING_NAMES;
	return strcmp(request->suite, "file") ? PINNING_SOCKETS : PINNING_DATAGRAMS;
}

void worker_perturb(const struct request *request, const char *work)
{
	struct pinned held;

	perturb_guest(request->vary);
	if (!request->vary || request->timed)
		return;
	held = slab_pinning_start(pinning_of(request));
	channel_fact("pages.held", "%d", held.pages);
	channel_fact("names.held", "%d", held.names);
	channel_fact("datagrams.held", "%d", held.datagrams);
	channel_fact("sockets.held", "%d", held.sockets);
	perturb_watches(request->suite, work);
	wear_slabs(work);
}

static bool open_copies(const struct request *request, struct copies *copies)
{
	int error = copies_open(copies, (unsigned int)request->copies);

	if (error)
		channel_error("%lu copies at once, with %u CPUs: %s", request->copies,
			      timing_cpus(), strerror(-error));
	else if (request->copies > 1)
		channel_fact("copies", "%lu", request->copies);
	return !error;
}

unsigned int worker_run_all(const struct session *session)
{
	const struct request *request = session->request;
	struct run run = {
		.session = session, .request = request, .scheduling = &session->scheduling};
	size_t rounds = request->n_sweep_values ? request->n_sweep_values : 1;

	if (!outcomes_make(request, session->counts, &run.outcomes) ||
	    !open_copies(request, &run.copies))
		return 0;
	block_child_signal();
	channel_fact("pages.own", "%ld", own_memory_find(&run.memory));
	/* What it takes is not to lie in what is looked for then. */
	if (request->vary && !request->timed)
		channel_fact("network.steady", "%d", network_baseline_set());
	worker_perturb(request, session->work);
	if (request->vary && !request->timed) {
		channel_fact("pids.held", "%d", pids_pin_nodes());
		page_owners_settle();
	}
	scheduling_join(run.scheduling);
	scheduling_acquire(run.scheduling);
	for (size_t round = 0; round < rounds; round++) {
		if (request->sweep_control) {
			run.sweep = request->sweep_value[round];
			if (!begin_sweep(session->delay, run.sweep))
				break;
		}
		for (size_t i = 0; i < request->n_benchmarks; i++) {
			run_one(&run, request->benchmark[i]);
			run.index++;
		}
	}
	scheduling_leave(run.scheduling);
	return run.index;
}

unsigned int worker_run_timed(const struct session *session)
{
	const struct request *request = session->request;
	unsigned int begun;

	if (request->timed)
		timing_open(&request->spin);
	begun = worker_run_all(session);
	if (request->timed)
		timing_close();
	return begun;
}
