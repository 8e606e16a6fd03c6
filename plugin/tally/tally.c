// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * QEMU plugin: how many instructions a region took, by account (accounts.h), in user space and in
 * the kernel, there by the security module whose code it is, by the hook that it ran in and by the
 * system call; and how often each call was made, and failed.
 *
 * Regions and their numbers are announced by markers (markers.h), accounts by MARKER_ACCOUNT, of
 * which the first starts the counting: until then nothing is instrumented, so that booting stays
 * fast.
 *
 * What differs between architectures is in arch/, and what instructions look like, in code.h.
 *
 * Arguments: syms=FILE (see symbols.h), out=FILE, avc=ADDRESS and memory=BYTES (hexadecimal; see
 * watch.h and results.h).
 */
#include "accounts.h"
#include "code.h"
#include "install.h"
#include "markers.h"
#include "owners.h"
#include "qemu_api.h"
#include "results.h"
#include "watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME	       "tally"
#define FORMAT_VERSION 1
#define NO_REGION      UINT32_MAX

static struct {
	bool active; /* everything is instrumented, not only the markers */
	uint32_t announced, region;
	FILE *out;
} plugin = {.announced = NO_REGION, .region = NO_REGION};

static void begin_region(void)
{
	if (plugin.announced == NO_REGION)
		return;
	plugin.region = plugin.announced;
	accounts_clear();
}

static void end_region(void)
{
	if (plugin.region == NO_REGION)
		return;
	fprintf(plugin.out, "region %" PRIu32 "\n", plugin.region);
	accounts_write(plugin.out, owners.module, owners.hook, owners.call);
	fputs("end\n", plugin.out);
	fflush(plugin.out);
	/* What the probe measures for itself between its regions is in none of them. */
	plugin.region = plugin.announced = NO_REGION;
}

static void take_marker(uint32_t marker)
{
	uint32_t value = marker & MARKER_PAYLOAD, kind = marker & (MARKER_MASK | MARKER_KIND);

	if (!plugin.active && kind == MARKER_ACCOUNT) {
		plugin.active = true;
		/* What is translated already lacks the instrumentation. */
		watch_restart();
	}
	if (!plugin.active)
		return;
	if (kind == MARKER_NIBBLE)
		plugin.announced = (plugin.announced << 4 | (value & 15)) & 0xffff;
	else if (kind == MARKER_ACCOUNT)
		accounts_mark(value);
	else if (kind == MARKER_BEGIN)
		begin_region();
	else if (kind == MARKER_END)
		end_region();
}

/*
 * Instructions in a row are counted by the first of them, once for all, up to one that has a
 * callback, which has to see the counters as they were before it. An exception among them leaves
 * those after it counted, though they are executed later, or never: some for each page fault.
 */
static void on_translate(struct qemu_plugin_tb *tb)
{
	size_t count = qemu_plugin_tb_n_insns(tb), in_row = 0;
	bool kernel = symbols_kernel(&owners.symbols, qemu_plugin_tb_vaddr(tb));
	struct qemu_plugin_insn *first = NULL;
	unsigned int counter = COUNT_USER, row_counter = COUNT_USER;

	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint8_t bytes[MAX_INSN_BYTES] = {0};
		size_t size = insn_bytes(insn, bytes);
		bool called;

		called = !kernel && watch_marker(insn, bytes, size, take_marker);
		if (!plugin.active)
			continue;
		if (!kernel) {
			called |= watch_user(insn, bytes, size);
		} else {
			called = watch_kernel(insn, bytes, size);
			counter = owners_counter(qemu_plugin_insn_vaddr(insn));
		}
		if (first && (called || counter != row_counter)) {
			counter_add(first, row_counter, in_row);
			first = NULL;
		}
		if (!first) {
			first = insn;
			row_counter = counter;
			in_row = 0;
		}
		in_row++;
	}
	if (first)
		counter_add(first, row_counter, in_row);
}

static void on_exit_qemu(void)
{
	finish(NAME, plugin.out);
}

PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
				      char **argv)
{
	struct argument own[] = {{"avc=", NULL}, {"memory=", NULL}};

	plugin.out = install(NAME, FORMAT_VERSION, own, 2, info, argc, argv, &owners.symbols);
	if (!plugin.out)
		return -1;
	if (!code_choose())
		return refuse(NAME, "has no guests of ", guest_arch->target);
	if (!owners_sort())
		return refuse(
			NAME,
			"more modules, hooks or system calls than there is room for, or no memory",
			"");
	if (own[0].value)
		watch_avc(strtoull(own[0].value, NULL, 16));
	if (own[1].value)
		results_memory(strtoull(own[1].value, NULL, 16));
	counter_init();
	accounts_init(owners.modules, owners.hooks, owners.calls);
	watch_start(id, on_translate, on_exit_qemu);
	return 0;
}
