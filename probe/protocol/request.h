/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the host asks of the probe: lines of key=value, the first one version=1. Anything
 * unknown, repeated, out of range or missing is an error that names its line.
 */
#ifndef LSMETER_PROTOCOL_REQUEST_H
#define LSMETER_PROTOCOL_REQUEST_H

#include "policy/landlock.h"
#include "policy/seccomp.h"
#include "protocol/limits.h"
#include "sampler/timing.h"

#include <stdbool.h>
#include <stddef.h>

/* Lists whose entries the host does not count: a request of REQUEST_BYTES may have more. */
#define MAX_BENCHMARKS 512
#define MAX_MODULES    32
#define MAX_SWEEP      512
#define MAX_FILESYSTEM 16 /* bytes of its name */

struct request {
	unsigned long version;
	const char *suite;
	const char *benchmark[MAX_BENCHMARKS];
	size_t n_benchmarks;
	const char *module[MAX_MODULES]; /* path, then a space and parameters if there are any */
	size_t n_modules;
	const char *filesystem; /* as mount(2) has it; "" in host mode: the directory as it is */
	bool ordinary_user;
	bool cold;
	bool quiet;
	bool timed; /* readings are time: see sampler/timing.h */
	unsigned long
		batch; /* calls of a timed reading, where it can be repeated; 0: by the clock */
	unsigned long copies; /* of each benchmark at once: see sampler/copies.h; 0 is 1 */
	unsigned long samples;
	unsigned long warmup;
	unsigned long icount_shift;
	unsigned long benchmark_deadline_ms;
	unsigned long
		whole_ppm;  /* precision of the whole cost, in millionths of it; 0: not asked */
	unsigned long vary; /* seed of what may differ between boots; 0: nothing does */
	struct landlock_shape landlock;
	struct seccomp_shape seccomp;
	struct spin_shape spin;
	bool bpf_tunable;	     /* attach the waiting BPF programs, with delay 0 */
	bool bpf_empty;		     /* attach BPF programs that do nothing */
	const char *root;	     /* file system of the image that is the root; NULL: none */
	const char *step[MAX_STEPS]; /* before anything is measured: see init/steps.h, and init.c */
	size_t n_steps;
	const char *confine[MAX_CONFINE]; /* PATH TEXT: what a worker writes to be confined */
	size_t n_confine;
	const char *check[MAX_CHECKS]; /* key `proof`: see policy/enforcement.h */
	size_t n_checks;
	const char *state[MAX_STATES]; /* NAME PATH: read before and after each benchmark */
	size_t n_states;
	const char *before[MAX_STEPS]; /* steps before each reading */
	size_t n_before;
	const char *read[MAX_STEPS]; /* NAME PATH: further facts */
	size_t n_reads;
	bool count; /* also count, in each reading, the hooks that it runs; or what `counter` has */
	const char *counter[MAX_STATES]; /* NAME PATH: numbers of a module, see observe/counter.h */
	size_t n_counters;
	const char *sweep_control; /* tunable or tunable-bpf; NULL: no sweep */
	const char *sweep_value[MAX_SWEEP];
	size_t n_sweep_values;
	/* A workload: see workload/workload.h. */
	const char *prepare[MAX_PREPARE]; /* PROGRAM ARG... */
	size_t n_prepare;
	const char *service[MAX_SERVICES]; /* NAME PROCESS PROGRAM ARG... */
	size_t n_services;
	const char *ready[MAX_SERVICES]; /* PROGRAM ARG... */
	size_t n_ready;
	const char *ask[MAX_ASKS]; /* NAME PROGRAM ARG... */
	size_t n_asks;
	const char *client[MAX_CLIENTS]; /* ID UNITS ACCOUNT PROGRAM ARG... */
	size_t n_clients;
	const char *command[1]; /* DIRECTORY STATUS: of the one client, see workload/command.h */
	size_t n_commands;
	const char *environment[MAX_ENVIRONMENT]; /* NAME=VALUE */
	size_t n_environment;
	unsigned long settle_ms;  /* inside the region, when the client has ended */
	unsigned long monitor_ms; /* between two moments of observe/monitor.h; 0: not asked */
};

/*
 * Read a request from text, which it keeps pointers into and writes to. On failure returns
 * false and puts one line into error.
 */
bool request_parse(char *text, size_t size, struct request *request, char *error,
		   size_t error_size);

/* As request_parse, from a file; the text stays allocated. */
bool request_read(const char *path, struct request *request, char *error, size_t error_size);

#endif
