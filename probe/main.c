// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lsmeter-probe: init of the guest when it is process 1, else the command of its first argument.
 */
#include "init/hostfacts.h"
#include "init/init.h"
#include "init/native.h"
#include "ops/bench.h"
#include "protocol/channel.h"
#include "protocol/request.h"
#include "sampler/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
	"usage: lsmeter-probe catalogue\n"
	"       lsmeter-probe check-request FILE\n"
	"       lsmeter-probe sample DIRECTORY REQUEST\n"
	"       lsmeter-probe native DIRECTORY REQUEST [PAGE PLACE]\n"
	"       lsmeter-probe host PREFIX\n"
	"catalogue prints every benchmark; check-request checks a request; sample\n"
	"runs a request on this machine in an empty directory, with results on standard output;\n"
	"native does so with a setup that a machine can be under as it runs, in turns with other\n"
	"processes if they share a page; host says what of\n"
	"this machine decides how long things take, as facts that begin with PREFIX.\n";

static int fail(const char *error)
{
	fprintf(stderr, "lsmeter-probe: %s\n", error);
	return 2;
}

/* On this machine as it is: modules, file system and sweep of the request are not for us. */
static int sample_here(struct request *request, const char *directory, const char *file)
{
	char error[256];

	if (!request_read(file, request, error, sizeof(error)))
		return fail(error);
	if (request->n_modules || request->sweep_control || request->bpf_tunable ||
	    request->bpf_empty || request->cold || request->landlock.layers > 0 || request->count)
		return fail("sample: modules, sweep, cold, count and Landlock are for a guest");
	if (request->root || request->n_steps || request->n_confine || request->n_checks ||
	    request->n_states || request->n_before)
		return fail("sample: a policy, enforcement checks and state files are for a guest");
	if (request->whole_ppm)
		return fail("sample: the whole cost is for a guest");
	if (request->n_clients)
		return fail("sample: workloads are for a guest");
	if (access(directory, W_OK | X_OK))
		return fail("sample: cannot write the directory");
	channel_open(STDOUT_FILENO);
	channel_hello();
	channel_bye(worker_run_all(&(struct session){.request = request, .work = directory}));
	return 0;
}

int main(int argc, char **argv)
{
	static struct request request;
	char error[256];

	if (getpid() == 1)
		init_main();
	if (argc == 2 && !strcmp(argv[1], "catalogue")) {
		catalogue_print();
		return fflush(stdout) ? 1 : 0;
	}
	if (argc == 3 && !strcmp(argv[1], "check-request"))
		return request_read(argv[2], &request, error, sizeof(error)) ? 0 : fail(error);
	if (argc == 4 && !strcmp(argv[1], "sample"))
		return sample_here(&request, argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "native"))
		return native_main(argv[2], argv[3], NULL, 0);
	if (argc == 6 && !strcmp(argv[1], "native"))
		return native_main(argv[2], argv[3], argv[4], (unsigned int)atoi(argv[5]));
	if (argc == 3 && !strcmp(argv[1], "host")) {
		channel_open(STDOUT_FILENO);
		channel_hello();
		host_facts(argv[2]);
		channel_bye(0);
		return 0;
	}
	fputs(usage, stderr);
	return 2;
}
