// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds functions in the type information (BTF) that a kernel gives of itself. */
#include "bpf/btf.h"

#include "bpf/syscall.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Kernels have 4 to 10 MiB of it; more than this is not read. */
#define MAX_BTF_BYTES (64u << 20)

/* Bytes that follow the common part of a type, or -1 for a kind that is not known. */
static long tail_bytes(const struct btf_type *type)
{
	long count = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return count * (long)sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return count * (long)sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return count * (long)sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return count * (long)sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return count * (long)sizeof(struct btf_var_secinfo);
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	default:
		return -1;
	}
}

/* The string at `offset`, or NULL when it does not end inside the data. */
static const char *string_at(const char *strings, size_t size, uint32_t offset)
{
	if (offset >= size || !memchr(strings + offset, 0, size - offset))
		return NULL;
	return strings + offset;
}

int btf_each_function(const void *data, size_t size, btf_function_fn found, void *context)
{
	const struct btf_header *header = data;
	const char *types, *strings;
	size_t at = 0;
	int id = 1; /* 0 is void */

	if (size < sizeof(*header) || header->magic != BTF_MAGIC || header->hdr_len > size ||
	    header->hdr_len < sizeof(*header) || header->hdr_len % 4 || header->type_off % 4)
		return -EINVAL;
	size -= header->hdr_len;
	if (header->type_off > size || header->type_len > size - header->type_off ||
	    header->str_off > size || header->str_len > size - header->str_off)
		return -EINVAL;
	types = (const char *)data + header->hdr_len + header->type_off;
	strings = (const char *)data + header->hdr_len + header->str_off;
	for (; at < header->type_len; id++) {
		const struct btf_type *type = (const struct btf_type *)(const void *)(types + at);
		long tail;

		if (header->type_len - at < sizeof(*type))
			return -EINVAL;
		tail = tail_bytes(type);
		if (tail < 0)
			return -EINVAL;
		if (BTF_INFO_KIND(type->info) == BTF_KIND_FUNC) {
			const char *name = string_at(strings, header->str_len, type->name_off);

			if (name && found(id, name, context))
				return id;
		}
		at += sizeof(*type) + (size_t)tail;
	}
	return 0;
}

static bool is_name(int id, const char *name, void *context)
{
	(void)id;
	return !strcmp(name, context);
}

int btf_find_function(const void *data, size_t size, const char *name)
{
	int id = btf_each_function(data, size, is_name, (void *)(uintptr_t)name);

	return id ? id : -ENOENT;
}

/* Read all of an open file, at most MAX_BTF_BYTES. Return the size, or -errno. */
static long read_all(int fd, char **data)
{
	size_t room = 8u << 20, used = 0;
	char *buffer = malloc(room);

	while (buffer) {
		ssize_t got = read(fd, buffer + used, room - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			*data = buffer;
			return got < 0 ? -errno : (long)used;
		}
		used += (size_t)got;
		if (used == room) {
			char *larger = room < MAX_BTF_BYTES ? realloc(buffer, room * 2) : NULL;

			if (!larger)
				break;
			buffer = larger;
			room *= 2;
		}
	}
	*data = buffer;
	return buffer ? -EFBIG : -ENOMEM;
}

int btf_each_kernel_function(btf_function_fn found, void *context)
{
	char *data = NULL;
	long size;
	int id, fd = open(KERNEL_BTF, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return bpf_fail(errno, "no kernel type information at " KERNEL_BTF
				       " (is CONFIG_DEBUG_INFO_BTF set, and /sys mounted?)");
	size = read_all(fd, &data);
	close(fd);
	id = size < 0 ? (int)size : btf_each_function(data, (size_t)size, found, context);
	free(data);
	if (id < 0)
		return bpf_fail(-id, "cannot read the kernel's type information: %s",
				strerror(-id));
	return id;
}

int btf_find_kernel_function(const char *name)
{
	int id = btf_each_kernel_function(is_name, (void *)(uintptr_t)name);

	if (!id)
		return bpf_fail(ENOENT,
				"the kernel has no function %s"
				" (no such hook, or no CONFIG_BPF_LSM)",
				name);
	return id;
}
