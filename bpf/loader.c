// SPDX-License-Identifier: GPL-2.0-or-later
#include "loader.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define PINS "/sys/fs/bpf"

/* The verifier's last line on a program, else the last warning of libbpf. */
static char warning[400];
static bool from_verifier;

int fail(int error, const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "lsmeter-bpf: ");
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\n");
	return -error;
}

static int note_warning(enum libbpf_print_level level, const char *format, va_list arguments)
{
	static char text[1 << 16];
	const char *last = text;
	bool verifier;

	if (level != LIBBPF_WARN || from_verifier)
		return 0;
	vsnprintf(text, sizeof(text), format, arguments);
	verifier = strstr(text, "BEGIN PROG LOAD LOG");
	for (char *line = strtok(text, "\n"); line && verifier; line = strtok(NULL, "\n")) {
		if (!strncmp(line, "processed ", 10) || strstr(line, "END PROG LOAD LOG"))
			break;
		last = line;
	}
	snprintf(warning, sizeof(warning), "%.390s", last);
	from_verifier = verifier;
	return 0;
}

struct bpf_object *loader_open(const struct embedded *embedded)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = embedded->name);
	struct bpf_object *object;

	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	libbpf_set_print(note_warning);
	object = bpf_object__open_mem(embedded->begin, (size_t)(embedded->end - embedded->begin),
				      &options);
	if (!object)
		fail(errno, "%s: not a BPF object: %s (%s)", embedded->name, strerror(errno),
		     warning);
	return object;
}

int loader_load(struct bpf_object *object)
{
	int error = bpf_object__load(object);

	if (error)
		return fail(-error,
			    "%s: the kernel refuses the programs: %s (%s); CONFIG_BPF_LSM,"
			    " CONFIG_DEBUG_INFO_BTF and root are needed",
			    bpf_object__name(object), strerror(-error), warning);
	return 0;
}

static int make_pins(const char *directory)
{
	struct stat here, above;

	if (stat(PINS, &here) || stat(PINS "/..", &above))
		return fail(errno, PINS ": %s (is /sys mounted?)", strerror(errno));
	if (here.st_dev == above.st_dev && mount("bpf", PINS, "bpf", 0, NULL))
		return fail(errno, "mounting " PINS ": %s", strerror(errno));
	if (mkdir(directory, 0700))
		return fail(errno, "making %s: %s%s", directory, strerror(errno),
			    errno == EEXIST ? " (the programs are loaded already)" : "");
	return 0;
}

static int attach_one(struct bpf_program *program, const char *directory)
{
	const char *name = bpf_program__name(program);
	struct bpf_link *link = bpf_program__attach(program);
	char path[128];
	int error;

	if (!link)
		return fail(errno, "the kernel does not attach the program %s: %s (%s)", name,
			    strerror(errno), warning);
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	error = bpf_link__pin(link, path);
	if (error) {
		bpf_link__destroy(link);
		return fail(-error, "pinning %s: %s", path, strerror(-error));
	}
	bpf_link__disconnect(link);
	bpf_link__destroy(link);
	return 0;
}

static void detach_all(struct bpf_object *object, const char *directory)
{
	struct bpf_program *program;
	char path[128];

	bpf_object__for_each_program(program, object)
	{
		snprintf(path, sizeof(path), "%s/%s", directory, bpf_program__name(program));
		unlink(path);
	}
	rmdir(directory);
}

int loader_attach(struct bpf_object *object, const char *name)
{
	struct bpf_program *program;
	char directory[64];
	int error;

	snprintf(directory, sizeof(directory), PINS "/lsmeter-%s", name);
	error = make_pins(directory);
	if (error)
		return error;
	bpf_object__for_each_program(program, object)
	{
		if (!error && bpf_program__autoload(program))
			error = attach_one(program, directory);
	}
	if (error)
		detach_all(object, directory);
	return error;
}

/* Reading it takes as long as all the rest: it is read once. */
static struct btf *kernel_types(void)
{
	static struct btf *types;

	if (!types)
		types = btf__load_vmlinux_btf();
	return types;
}

unsigned int loader_hook_arguments(const char *hook)
{
	const struct btf *types = kernel_types();
	char function[96];
	int id;

	snprintf(function, sizeof(function), "bpf_lsm_%s", hook);
	id = types ? btf__find_by_name_kind(types, function, BTF_KIND_FUNC) : -1;
	if (id < 0)
		return 0;
	return btf_vlen(btf__type_by_id(types, btf__type_by_id(types, (__u32)id)->type));
}

bool loader_has_member(const char *structure, const char *member)
{
	const struct btf *types = kernel_types();
	int id = types ? btf__find_by_name_kind(types, structure, BTF_KIND_STRUCT) : -1;
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(types, (__u32)id);

	for (int i = 0; type && i < btf_vlen(type); i++) {
		const char *name = btf__name_by_offset(types, btf_members(type)[i].name_off);

		if (name && !strcmp(name, member))
			return true;
	}
	return false;
}
