// SPDX-License-Identifier: GPL-2.0-or-later
#include "init/hostfacts.h"

#include "arch/arch.h"
#include "protocol/channel.h"

#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define CPUS "/sys/devices/system/cpu/"

/* Additions by which the speed of the processor is seen: some 40 us, so that few hold a tick. */
#define ROUNDS 10000
#define TRIES  9

static void send(const char *prefix, const char *name, const char *value)
{
	char key[96];

	snprintf(key, sizeof(key), "%s.%s", prefix, name);
	channel_fact(key, "%s", value);
}

/* The first line of a file that begins with `sign`, without that and what stands before a value. */
static bool find_line(const char *path, const char *sign, char *value, size_t size)
{
	FILE *file = fopen(path, "re");
	char line[1024];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		const char *at = line + strlen(sign);

		if (strncmp(line, sign, strlen(sign)))
			continue;
		at += strspn(at, "\t :");
		snprintf(value, size, "%.*s", (int)strcspn(at, "\n"), at);
		found = true;
	}
	if (file)
		fclose(file);
	return found;
}

/* A file that is not there is no fact. */
static void send_line(const char *prefix, const char *name, const char *path, const char *sign)
{
	char value[512];

	if (find_line(path, sign, value, sizeof(value)))
		send(prefix, name, value);
}

/* Tells machines of one kind apart, and cannot be turned back into what the machine is called. */
static void machine_fact(const char *prefix)
{
	uint64_t hash = 0xcbf29ce484222325;
	char id[64], text[24];

	if (!find_line("/etc/machine-id", "", id, sizeof(id)) || !*id)
		return;
	for (const char *at = id; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 0x100000001b3;
	snprintf(text, sizeof(text), "%016" PRIx64, hash);
	send(prefix, "machine", text);
}

/* Of the CPU that measures. */
static void frequency_facts(const char *prefix)
{
	static const char *const names[] = {"governor", "driver", "frequency_khz", "most_khz"};
	static const char *const files[] = {"scaling_governor", "scaling_driver",
					    "scaling_cur_freq", "scaling_max_freq"};
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), CPUS "cpu%d/cpufreq/%s", sched_getcpu(), files[i]);
		send_line(prefix, names[i], path, "");
	}
	send_line(prefix, "turbo", CPUS "cpufreq/boost", "");
	send_line(prefix, "no_turbo", CPUS "intel_pstate/no_turbo", "");
}

/*
 * Cycles for a thousand ticks of the counter: where this changes, so did the frequency, whatever
 * the files above say, and in a virtual machine they say nothing.
 */
static void speed_fact(const char *prefix)
{
	uint64_t least = UINT64_MAX;
	char text[32];
	uint32_t cpu;

	if (!arch_clock_steady())
		return;
	for (int i = 0; i < TRIES; i++) {
		uint64_t first = arch_clock(&cpu), took;

		arch_additions(ROUNDS);
		took = arch_clock(&cpu) - first;
		if (took < least)
			least = took;
	}
	snprintf(text, sizeof(text), "%" PRIu64, (uint64_t)ROUNDS * 8 * 1000 / least);
	send(prefix, "cycles_per_1000_ticks", text);
}

/* Time that the hypervisor gave to others, of all CPUs since they started; in ticks of 10 ms. */
static void steal_fact(const char *prefix)
{
	char line[512], text[32];
	unsigned long long steal;

	if (!find_line("/proc/stat", "cpu ", line, sizeof(line)) ||
	    sscanf(line, "%*u %*u %*u %*u %*u %*u %*u %llu", &steal) != 1)
		return;
	snprintf(text, sizeof(text), "%llu", steal);
	send(prefix, "steal_10ms", text);
}

void host_facts(const char *prefix)
{
	struct utsname name;

	if (!uname(&name)) {
		send(prefix, "kernel", name.release);
		send(prefix, "build", name.version);
	}
	machine_fact(prefix);
	send_line(prefix, "boot_id", "/proc/sys/kernel/random/boot_id", "");
	send_line(prefix, "cpu", "/proc/cpuinfo", "model name");
	send_line(prefix, "microcode", "/proc/cpuinfo", "microcode");
	send(prefix, "virtualisation", arch_is_virtual() ? "yes" : "no");
	send_line(prefix, "hypervisor", "/sys/hypervisor/type", "");
	send_line(prefix, "product", "/sys/class/dmi/id/product_name", "");
	send_line(prefix, "online", CPUS "online", "");
	send_line(prefix, "smt", CPUS "smt/control", "");
	send_line(prefix, "aslr", "/proc/sys/kernel/randomize_va_space", "");
	send_line(prefix, "bpf_jit", "/proc/sys/net/core/bpf_jit_enable", "");
	send_line(prefix, "clocksource",
		  "/sys/devices/system/clocksource/clocksource0/current_clocksource", "");
	send_line(prefix, "lsm", "/sys/kernel/security/lsm", "");
	send_line(prefix, "cpuset", "/proc/self/status", "Cpus_allowed_list");
	send_line(prefix, "load", "/proc/loadavg", "");
	frequency_facts(prefix);
	speed_fact(prefix);
	steal_fact(prefix);
}
