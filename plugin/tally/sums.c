// SPDX-License-Identifier: GPL-2.0-or-later
#include "state.h"

#include <inttypes.h>
#include <string.h>

void accounts_clear(void)
{
	accounts_settle();
	memset(all.of, 0, sizeof(all.of));
	all.lost = all.unread = 0;
}

static void line(FILE *out, const char *account, const char *kind, const char *name, uint64_t value)
{
	if (value)
		fprintf(out, "%s %s %s %" PRIu64 "\n", account, kind, name, value);
}

static void write_call(FILE *out, const char *account, const char *call, const struct call *sums,
		       const char *const *module)
{
	line(out, account, "syscall", call, sums->calls);
	line(out, account, "errors", call, sums->errors);
	for (unsigned int i = 0; i < all.modules; i++) {
		if (sums->kernel[i])
			fprintf(out, "%s within %s/%s %" PRIu64 "\n", account, call, module[i],
				sums->kernel[i]);
	}
}

void accounts_write(FILE *out, const char *const *module, const char *const *hook,
		    const char *const *call)
{
	static const char *const name[ACCOUNTS] = {
		"none",	      "service", "client",  "driver", "threads",
		"interrupts", "clock",	 "cleanup", "idle",
	};

	accounts_settle();
	for (unsigned int i = 0; i < ACCOUNTS; i++) {
		const struct sums *sums = &all.of[i];

		line(out, name[i], "insns", "user", sums->user);
		line(out, name[i], "events", "syscalls", sums->syscalls);
		line(out, name[i], "events", "results", sums->results);
		line(out, name[i], "events", "switches", sums->switches);
		line(out, name[i], "events", "avc_lookups", sums->avc_lookups);
		line(out, name[i], "events", "avc_misses", sums->avc_misses);
		for (unsigned int k = 0; k < all.modules; k++)
			line(out, name[i], "kernel", module[k], sums->kernel[k]);
		for (unsigned int k = 0; k < all.hooks; k++) {
			line(out, name[i], "calls", hook[k], sums->hook[k].calls);
			line(out, name[i], "hook", hook[k], sums->hook[k].insns);
		}
		for (unsigned int k = 0; k < all.calls; k++)
			write_call(out, name[i], call[k], &sums->call[k], module);
	}
	line(out, "none", "events", "lost", all.lost);
	line(out, "none", "events", "unread", all.unread);
}
