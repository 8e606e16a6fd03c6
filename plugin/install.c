// SPDX-License-Identifier: GPL-2.0-or-later
#include "install.h"

#include <errno.h>
#include <string.h>

int refuse(const char *name, const char *reason, const char *detail)
{
	fprintf(stderr, "lsmeter %s: %s%s\n", name, reason, detail);
	return -1;
}

static bool take(struct argument *list, size_t count, const char *given)
{
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(list[i].key);

		if (strncmp(given, list[i].key, length))
			continue;
		list[i].value = given + length;
		return true;
	}
	return false;
}

static FILE *create(const char *path, char *error, size_t size)
{
	FILE *out = fopen(path, "w");

	if (!out)
		snprintf(error, size, "cannot write %s: %s", path, strerror(errno));
	return out;
}

FILE *install(const char *name, int version, struct argument *own, size_t count,
	      const qemu_info_t *info, int argc, char **argv, struct symbols *symbols)
{
	struct argument files[] = {{"syms=", NULL}, {"out=", NULL}};
	const char *detail = "", *reason;
	char error[512];
	FILE *out = NULL;

	for (int i = 0; i < argc; i++) {
		if (take(files, 2, argv[i]) || take(own, count, argv[i]))
			continue;
		refuse(name, "unknown argument ", argv[i]);
		return NULL;
	}
	if (!files[0].value || !files[1].value) {
		reason = "needs syms=FILE and out=FILE";
	} else if (!info->system_emulation || !arch_choose(info->target_name)) {
		reason = "has no guests of ";
		detail = info->target_name;
	} else if (info->system.smp_vcpus != 1) {
		reason = "works with one virtual CPU only";
	} else {
		reason = error;
		if (!symbols_read(symbols, files[0].value, error, sizeof(error)))
			out = create(files[1].value, error, sizeof(error));
	}
	if (!out) {
		refuse(name, reason, detail);
		return NULL;
	}
	fprintf(out, "lsmeter-%s %d\n", name, version);
	fflush(out);
	return out;
}

void finish(const char *name, FILE *out)
{
	fputs("eof\n", out);
	if (fclose(out))
		refuse(name, "cannot write the output: ", strerror(errno));
}

static struct {
	void (*take)(uint32_t marker);
	uint32_t high; /* of a marker of two instructions, after the first one; or 0 */
} markers;

static void on_whole(unsigned int vcpu, void *marker)
{
	(void)vcpu;
	markers.take((uint32_t)(uintptr_t)marker);
}

static void on_high(unsigned int vcpu, void *high)
{
	(void)vcpu;
	markers.high = (uint32_t)(uintptr_t)high;
}

static void on_low(unsigned int vcpu, void *low)
{
	uint32_t high = markers.high;

	(void)vcpu;
	markers.high = 0;
	if (high)
		markers.take(high | (uint32_t)(uintptr_t)low);
}

bool watch_marker(struct qemu_plugin_insn *insn, const uint8_t *bytes, size_t size,
		  void (*take)(uint32_t marker))
{
	static const exec_cb callbacks[] = {
		[MARKER_WHOLE] = on_whole,
		[MARKER_HIGH] = on_high,
		[MARKER_LOW] = on_low,
	};
	uint32_t value;
	enum marker_part part = guest_arch->marker(bytes, size, &value);

	if (part == MARKER_NONE)
		return false;
	markers.take = take;
	qemu_plugin_register_vcpu_insn_exec_cb(insn, callbacks[part], CB_NO_REGS,
					       (void *)(uintptr_t)value);
	return true;
}
