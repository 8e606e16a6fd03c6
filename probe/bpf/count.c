// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The counting programs, written as BPF instructions. As C each would be
 *
 *	if ((get_current_pid_tgid() >> 32 & shared.mask) == shared.process)
 *		shared.calls[INDEX] += 1;
 *	return 0;
 *
 * with a map of one entry, which this process has in its memory, as `shared`.
 */
#include "bpf/count.h"

#include "bpf/btf.h"
#include "bpf/syscall.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PREFIX "security_"
/* No process has this number; 0 would be the idle task's. */
#define NOBODY UINT64_MAX

struct bpf_count_shared {
	uint64_t process;
	uint64_t mask; /* 0, with 0 for the process, takes every one */
	uint64_t calls[MAX_HOOKS];
};

#define INSN(op, dst, src, offset, immediate) \
	{.code = (op), .dst_reg = (dst), .src_reg = (src), .off = (offset), .imm = (immediate)}
/* Two instructions: the address of byte `offset` in the map's value. */
#define MAP_VALUE(dst, fd, offset) \
	INSN(BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_MAP_VALUE, 0, fd), INSN(0, 0, 0, 0, offset)

static int create_map(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = sizeof(uint32_t);
	attr.value_size = sizeof(struct bpf_count_shared);
	attr.max_entries = 1;
	attr.map_flags = BPF_F_MMAPABLE;
	return bpf_call(BPF_MAP_CREATE, &attr);
}

/* Load and attach the program of one function. Return the link's descriptor, or -errno. */
static int attach(int map_fd, unsigned int index, int function_id)
{
	const struct bpf_insn insns[] = {
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_current_pid_tgid),
		INSN(BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_0, 0, 0, 32),
		MAP_VALUE(BPF_REG_1, map_fd, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_2, BPF_REG_1,
		     offsetof(struct bpf_count_shared, mask), 0),
		INSN(BPF_ALU64 | BPF_AND | BPF_X, BPF_REG_0, BPF_REG_2, 0, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_2, BPF_REG_1,
		     offsetof(struct bpf_count_shared, process), 0),
		INSN(BPF_JMP | BPF_JNE | BPF_X, BPF_REG_0, BPF_REG_2, 4, 0),
		MAP_VALUE(
			BPF_REG_1, map_fd,
			(int)(offsetof(struct bpf_count_shared, calls) + index * sizeof(uint64_t))),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, 1),
		INSN(BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_1, BPF_REG_2, 0, BPF_ADD),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr;
	int program_fd, link_fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_TRACING;
	attr.expected_attach_type = BPF_TRACE_FENTRY;
	attr.attach_btf_id = (uint32_t)function_id;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = sizeof(insns) / sizeof(*insns);
	attr.license = (uintptr_t)"GPL";
	program_fd = bpf_call(BPF_PROG_LOAD, &attr);
	if (program_fd < 0)
		return program_fd;
	memset(&attr, 0, sizeof(attr));
	attr.raw_tracepoint.prog_fd = (uint32_t)program_fd;
	link_fd = bpf_call(BPF_RAW_TRACEPOINT_OPEN, &attr);
	close(program_fd); /* the link holds it */
	return link_fd;
}

static bool note_function(int id, const char *name, void *context)
{
	const size_t prefix = sizeof(PREFIX) - 1;
	struct bpf_count *count = context;

	if (strncmp(name, PREFIX, prefix) != 0 || strlen(name + prefix) >= COUNTED_NAME_SIZE)
		return false;
	/* The kernel gives one function two types when its declarations differ. */
	for (unsigned int i = 0; i < count->n_hooks; i++)
		if (!strcmp(count->hook[i].name, name + prefix))
			return false;
	if (count->n_hooks == MAX_HOOKS) {
		count->too_many = true;
		return true;
	}
	strcpy(count->hook[count->n_hooks].name, name + prefix);
	count->hook[count->n_hooks++].function_id = id;
	return false;
}

static void note_refusal(struct bpf_count *count, const char *name, int error)
{
	size_t used = strlen(count->refused);

	if (!count->first_refusal)
		count->first_refusal = error;
	snprintf(count->refused + used, sizeof(count->refused) - used, "%s%s", used ? "," : "",
		 name);
}

/* Attach a program to each function, and forget those that take none. */
static int attach_all(struct bpf_count *count, int map_fd)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < count->n_hooks; i++) {
		struct counted *hook = &count->hook[kept];
		int link_fd;

		*hook = count->hook[i];
		link_fd = attach(map_fd, kept, hook->function_id);
		/* The links are never closed: they count until this system ends. */
		if (link_fd >= 0)
			kept++;
		else
			note_refusal(count, hook->name, -link_fd);
	}
	count->n_hooks = kept;
	if (kept)
		return 0;
	return bpf_fail(
		count->first_refusal,
		"the kernel lets no BPF program count the calls of its hooks: %s"
		" (CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT and CONFIG_FUNCTION_TRACER are needed)",
		strerror(count->first_refusal));
}

int bpf_count_open(struct bpf_count *count)
{
	struct bpf_count_shared *shared;
	int map_fd, result = btf_each_kernel_function(note_function, count);

	if (result < 0)
		return result;
	if (count->too_many)
		return bpf_fail(E2BIG, "the kernel has more than %d functions " PREFIX "*",
				MAX_HOOKS);
	if (!count->n_hooks)
		return bpf_fail(ENOENT, "the kernel has no function " PREFIX "*"
					" (CONFIG_SECURITY is not set)");
	map_fd = create_map();
	if (map_fd < 0)
		return bpf_fail(-map_fd, "the kernel refuses a BPF map that is shared memory: %s",
				strerror(-map_fd));
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (shared == MAP_FAILED)
		return bpf_fail(errno, "cannot map the BPF map: %s", strerror(errno));
	count->shared = shared;
	shared->mask = UINT64_MAX;
	shared->process = NOBODY;
	return attach_all(count, map_fd);
}

/* The place of a hook that must be known, or -errno. */
static int find(const struct bpf_count *count, const char *name)
{
	for (unsigned int i = 0; i < count->n_hooks; i++)
		if (!strcmp(count->hook[i].name, name))
			return (int)i;
	return bpf_fail(ENOENT, "the kernel does not let its hook %s be counted", name);
}

static int expect(const struct bpf_count *count, const char *what, unsigned int index,
		  uint64_t least, uint64_t most)
{
	uint64_t calls = count->shared->calls[index];

	if (calls >= least && calls <= most)
		return 0;
	return bpf_fail(EPROTO,
			"counting is wrong: %s ran the hook %s %llu times, not %llu to %llu", what,
			count->hook[index].name, (unsigned long long)calls,
			(unsigned long long)least, (unsigned long long)most);
}

int bpf_count_check(const struct bpf_count *count)
{
	int permission = find(count, "inode_permission"), getattr = find(count, "inode_getattr"),
	    result = 0;
	struct stat status;

	if (permission < 0 || getattr < 0)
		return -ENOENT;
	bpf_count_begin(count, false);
	syscall(SYS_getppid);
	bpf_count_end(count);
	for (unsigned int i = 0; i < count->n_hooks && !result; i++)
		result = expect(count, "getppid", i, 0, 0);
	if (result)
		return result;
	bpf_count_begin(count, false);
	result = stat(".", &status) ? errno : 0;
	bpf_count_end(count);
	if (result)
		return bpf_fail(result, "stat of the working directory: %s", strerror(result));
	/* After the end nothing is counted. */
	stat(".", &status);
	result = expect(count, "stat", (unsigned int)getattr, 1, 1);
	if (result)
		return result;
	/* A module that needs a reference to the inode (Smack) makes the walk repeat with one. */
	return expect(count, "stat", (unsigned int)permission, 1, 2);
}

void bpf_count_begin(const struct bpf_count *count, bool everyone)
{
	volatile struct bpf_count_shared *shared = count->shared;

	if (!shared)
		return;
	for (unsigned int i = 0; i < count->n_hooks; i++)
		shared->calls[i] = 0;
	/* getpid is a system call: it has to be over before the number is stored. */
	shared->mask = everyone ? 0 : UINT64_MAX;
	shared->process = everyone ? 0 : (uint64_t)getpid();
}

void bpf_count_end(const struct bpf_count *count)
{
	volatile struct bpf_count_shared *shared = count->shared;

	if (!shared)
		return;
	shared->mask = UINT64_MAX;
	shared->process = NOBODY;
}

uint64_t bpf_count_calls(const struct bpf_count *count, unsigned int index)
{
	return count->shared->calls[index];
}
