// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/request.h"

#include "ops/bench.h"
#include "protocol/text.h"
#include "workload/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind { NUMBER, FLAG, TEXT, LIST, FILESYSTEM, USER, CONTROL };

struct key {
	const char *name;
	enum kind kind;
	size_t offset;
	size_t count_offset; /* LIST: where the number of entries stands */
	unsigned long limit; /* NUMBER: largest value; LIST: most entries */
	bool required;
};

#define AT(field) offsetof(struct request, field)

/* version stands first here and in the text. */
static const struct key keys[] = {
	{"version", NUMBER, AT(version), 0, REQUEST_VERSION, true},
	{"suite", TEXT, AT(suite), 0, 0, true},
	{"benchmark", LIST, AT(benchmark), AT(n_benchmarks), MAX_BENCHMARKS, false},
	{"module", LIST, AT(module), AT(n_modules), MAX_MODULES, false},
	{"filesystem", FILESYSTEM, AT(filesystem), 0, 0, true},
	{"user", USER, AT(ordinary_user), 0, 0, true},
	{"cold", FLAG, AT(cold), 0, 1, true},
	{"quiet", FLAG, AT(quiet), 0, 1, true},
	{"timed", FLAG, AT(timed), 0, 1, false},
	{"batch", NUMBER, AT(batch), 0, MAX_BATCH, false},
	{"copies", NUMBER, AT(copies), 0, MAX_COPIES, false},
	{"samples", NUMBER, AT(samples), 0, MAX_SAMPLES, true},
	{"warmup", NUMBER, AT(warmup), 0, MAX_SAMPLES, true},
	{"icount_shift", NUMBER, AT(icount_shift), 0, MAX_ICOUNT_SHIFT, true},
	{"benchmark_deadline_ms", NUMBER, AT(benchmark_deadline_ms), 0, MAX_DEADLINE_MS, true},
	{"whole_ppm", NUMBER, AT(whole_ppm), 0, MAX_PPM, false},
	{"vary", NUMBER, AT(vary), 0, MAX_SEED, false},
	{"landlock.layers", NUMBER, AT(landlock.layers), 0, MAX_LANDLOCK_LAYERS, false},
	{"landlock.rules", NUMBER, AT(landlock.rules), 0, MAX_LANDLOCK_RULES, false},
	{"landlock.depth", NUMBER, AT(landlock.depth), 0, MAX_LANDLOCK_DEPTH, false},
	{"seccomp.filters", NUMBER, AT(seccomp.filters), 0, MAX_SECCOMP_FILTERS, false},
	{"seccomp.length", NUMBER, AT(seccomp.length), 0, MAX_SECCOMP_LENGTH, false},
	{"spin.ns", NUMBER, AT(spin.ns), 0, MAX_SPIN_NS, false},
	{"spin.every", NUMBER, AT(spin.every), 0, MAX_SAMPLES, false},
	{"bpf.tunable", FLAG, AT(bpf_tunable), 0, 1, false},
	{"bpf.empty", FLAG, AT(bpf_empty), 0, 1, false},
	{"root", FILESYSTEM, AT(root), 0, 0, false},
	{"step", LIST, AT(step), AT(n_steps), MAX_STEPS, false},
	{"confine", LIST, AT(confine), AT(n_confine), MAX_CONFINE, false},
	{"proof", LIST, AT(check), AT(n_checks), MAX_CHECKS, false},
	{"state", LIST, AT(state), AT(n_states), MAX_STATES, false},
	{"before", LIST, AT(before), AT(n_before), MAX_STEPS, false},
	{"read", LIST, AT(read), AT(n_reads), MAX_STEPS, false},
	{"count", FLAG, AT(count), 0, 1, false},
	{"counter", LIST, AT(counter), AT(n_counters), MAX_STATES, false},
	{"sweep.control", CONTROL, AT(sweep_control), 0, 0, false},
	{"sweep.value", LIST, AT(sweep_value), AT(n_sweep_values), MAX_SWEEP, false},
	{"prepare", LIST, AT(prepare), AT(n_prepare), MAX_PREPARE, false},
	{"service", LIST, AT(service), AT(n_services), MAX_SERVICES, false},
	{"ready", LIST, AT(ready), AT(n_ready), MAX_SERVICES, false},
	{"ask", LIST, AT(ask), AT(n_asks), MAX_ASKS, false},
	{"client", LIST, AT(client), AT(n_clients), MAX_CLIENTS, false},
	{"command", LIST, AT(command), AT(n_commands), 1, false},
	{"environment", LIST, AT(environment), AT(n_environment), MAX_ENVIRONMENT, false},
	{"settle_ms", NUMBER, AT(settle_ms), 0, MAX_SETTLE_MS, false},
	{"monitor_ms", NUMBER, AT(monitor_ms), 0, MAX_MONITOR_MS, false},
};

static bool one_of(const char *value, const char *const *words)
{
	for (; *words; words++) {
		if (!strcmp(value, *words))
			return true;
	}
	return false;
}

/* Could this be the name of a file system? What the kernel makes of it is seen when it is mounted.
 */
static bool is_filesystem(const char *value)
{
	size_t size = strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789");

	return size && size <= MAX_FILESYSTEM && !value[size];
}

/* Put value into the field that key names; false if it does not fit there. */
static bool store(const struct key *key, const char *value, struct request *request)
{
	static const char *const users[] = {"root", "user", NULL};
	static const char *const controls[] = {"tunable", "tunable-bpf", NULL};
	void *field = (char *)request + key->offset;
	unsigned long result;
	size_t *count;

	switch (key->kind) {
	case NUMBER:
		return text_number(value, key->limit, field);
	case FLAG:
		if (!text_number(value, 1, &result))
			return false;
		*(bool *)field = result;
		return true;
	case LIST:
		count = (size_t *)((char *)request + key->count_offset);
		if (!*value || *count >= key->limit)
			return false;
		((const char **)field)[(*count)++] = value;
		return true;
	case TEXT:
		*(const char **)field = value;
		return *value;
	case FILESYSTEM:
		*(const char **)field = value;
		return is_filesystem(value);
	case USER:
		*(bool *)field = !strcmp(value, "user");
		return one_of(value, users);
	case CONTROL:
		*(const char **)field = value;
		return one_of(value, controls);
	}
	return false;
}

static const struct key *find_key(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!strcmp(keys[i].name, name))
			return &keys[i];
	}
	return NULL;
}

/* Which keys were there: seen[i] is of keys[i]. */
typedef bool seen_keys[ARRAY_SIZE(keys)];

static bool parse_line(char *text, struct request *request, seen_keys seen, char *why,
		       size_t why_size)
{
	char *equals = strchr(text, '=');
	const struct key *key;

	for (const char *c = text; *c; c++) {
		if (*c < ' ' || *c > '~') {
			snprintf(why, why_size, "a byte that is not printable ASCII");
			return false;
		}
	}
	if (!equals) {
		snprintf(why, why_size, "'%.40s' is not key=value", text);
		return false;
	}
	*equals = '\0';
	key = find_key(text);
	if (!key) {
		snprintf(why, why_size, "unknown key '%.40s'", text);
		return false;
	}
	if (!seen[0] && key != keys) {
		snprintf(why, why_size, "version must come first");
		return false;
	}
	if (seen[key - keys] && key->kind != LIST) {
		snprintf(why, why_size, "%s is given twice", key->name);
		return false;
	}
	seen[key - keys] = true;
	if (!store(key, equals + 1, request)) {
		snprintf(why, why_size, "%s cannot be '%.40s'", key->name, equals + 1);
		return false;
	}
	return true;
}

static bool sweep_values_are_numbers(const struct request *request)
{
	unsigned long value;

	for (size_t i = 0; i < request->n_sweep_values; i++) {
		if (!text_number(request->sweep_value[i], MAX_DELAY_NS, &value))
			return false;
	}
	return true;
}

/* Every line that holds several words must be one that can be taken apart. */
static bool all_are_words(const struct request *request)
{
	static const struct {
		size_t lines, count;
	} lists[] = {
		{AT(step), AT(n_steps)},       {AT(before), AT(n_before)},
		{AT(check), AT(n_checks)},     {AT(confine), AT(n_confine)},
		{AT(state), AT(n_states)},     {AT(read), AT(n_reads)},
		{AT(counter), AT(n_counters)}, {AT(prepare), AT(n_prepare)},
		{AT(service), AT(n_services)}, {AT(ready), AT(n_ready)},
		{AT(ask), AT(n_asks)},	       {AT(client), AT(n_clients)},
	};
	static struct words words;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const char *at = (const char *)request;
		const char *const *line = (const char *const *)(at + lists[i].lines);
		size_t count = *(const size_t *)(at + lists[i].count);

		for (size_t k = 0; k < count; k++) {
			if (text_split(line[k], &words))
				return false;
		}
	}
	return true;
}

static bool all_are_known(const struct request *request, char *error, size_t size)
{
	struct bench bench;

	for (size_t i = 0; i < request->n_benchmarks; i++) {
		if (bench_find(request->suite, request->benchmark[i], &bench))
			continue;
		snprintf(error, size, "request: suite '%.20s' has no benchmark '%.60s'",
			 request->suite, request->benchmark[i]);
		return false;
	}
	return true;
}

/* What keys say together, that none of them gets wrong alone; NULL: nothing wrong. */
static const char *contradiction(const struct request *request)
{
	if (request->version != REQUEST_VERSION)
		return "version must be 1";
	if (!request->samples)
		return "samples must be at least 1";
	if (!request->benchmark_deadline_ms)
		return "benchmark_deadline_ms must be at least 1";
	if (request->landlock.layers && !request->landlock.rules)
		return "landlock.layers needs landlock.rules of 1 or more";
	if (request->spin.ns && !request->spin.every)
		return "spin.ns needs spin.every";
	if (request->seccomp.filters && request->seccomp.length < 2)
		return "seccomp.filters needs seccomp.length of 2 or more";
	if (request->timed && (request->whole_ppm || request->count || request->sweep_control ||
			       request->quiet || request->icount_shift))
		return "timed goes with neither whole_ppm, count, sweep, quiet nor icount_shift";
	if (request->copies > 1 && (!request->timed || request->cold || request->n_before))
		return "copies needs timed, and goes with neither cold nor before";
	if (request->whole_ppm &&
	    (request->cold || request->count || request->sweep_control || request->n_before))
		return "whole_ppm goes with neither cold, count, sweep nor before";
	if (request->count && request->samples > MAX_COUNTINGS)
		return "samples must be at most 1000 with count";
	if (request->n_counters && !request->count)
		return "counter needs count";
	if (!request->sweep_control != !request->n_sweep_values)
		return "sweep.control and sweep.value need each other";
	if (!all_are_words(request))
		return "a line is not words as they must be";
	if (!sweep_values_are_numbers(request))
		return "every sweep.value must be a number of nanoseconds";
	return workload_wrong(request);
}

/* What no single line can get wrong. */
static bool check_together(const struct request *request, const seen_keys seen, char *error,
			   size_t size)
{
	const char *wrong;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (keys[i].required && !seen[i]) {
			snprintf(error, size, "request: %s is missing", keys[i].name);
			return false;
		}
	}
	if (!request->n_clients && !all_are_known(request, error, size))
		return false;
	wrong = contradiction(request);
	if (wrong)
		snprintf(error, size, "request: %s", wrong);
	return !wrong;
}

bool request_parse(char *text, size_t size, struct request *request, char *error, size_t error_size)
{
	seen_keys seen = {false};
	unsigned int line = 0;
	char why[128];
	char *end;

	*request = (struct request){0};
	if (!size || text[size - 1] != '\n') {
		snprintf(error, error_size, "request: does not end with a newline");
		return false;
	}
	for (char *at = text; at < text + size; at = end + 1) {
		end = memchr(at, '\n', (size_t)(text + size - at));
		*end = '\0';
		line++;
		if (strlen(at) != (size_t)(end - at))
			snprintf(why, sizeof(why), "a NUL byte");
		else if (parse_line(at, request, seen, why, sizeof(why)))
			continue;
		snprintf(error, error_size, "request line %u: %s", line, why);
		return false;
	}
	return check_together(request, seen, error, error_size);
}

bool request_read(const char *path, struct request *request, char *error, size_t error_size)
{
	char *text = malloc(REQUEST_BYTES + 1);
	size_t size = 0;
	ssize_t n = -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || !text) {
		snprintf(error, error_size, "cannot open %s: %s", path, strerror(errno));
		free(text);
		return false;
	}
	while (size <= REQUEST_BYTES && (n = read(fd, text + size, REQUEST_BYTES + 1 - size)) > 0)
		size += (size_t)n;
	close(fd);
	if (n < 0 || size > REQUEST_BYTES) {
		snprintf(error, error_size, "cannot read %s: %s", path,
			 n < 0 ? strerror(errno) : "more than 65536 bytes");
		free(text);
		return false;
	}
	return request_parse(text, size, request, error, error_size);
}
