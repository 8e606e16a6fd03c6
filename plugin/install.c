// SPDX-License-Identifier: GPL-2.0-or-later
#include "install.h"

#include "markers.h"

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
	} else if (!info->system_emulation || strcmp(info->target_name, "x86_64")) {
		reason = "works for x86_64 guests only, not ";
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

bool is_marker(const uint8_t *bytes, size_t size, uint32_t *marker)
{
	static const uint8_t nop[] = {MARKER_NOP_X86};

	if (size != 8 || memcmp(bytes, nop, sizeof(nop)))
		return false;
	memcpy(marker, bytes + sizeof(nop), sizeof(*marker));
	return (*marker & MARKER_MASK) == MARKER_PREPARE;
}
