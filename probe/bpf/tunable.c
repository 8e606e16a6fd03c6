// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The waiting programs, written as BPF instructions. As C the program on a hook would be
 *
 *	struct wait { u64 start, delay, now; } wait;
 *
 *	static int step(u32 index, struct wait *wait)
 *	{
 *		wait->now = ktime_get_ns();
 *		return wait->now - wait->start >= wait->delay;
 *	}
 *
 *	counts.calls += 1;
 *	wait.delay = delay_ns;
 *	wait.start = wait.now = ktime_get_ns();
 *	loops = bpf_loop(MAX_LOOPS, step, &wait, 0);
 *	counts.waited_ns += wait.now - wait.start;
 *	if (loops == MAX_LOOPS)
 *		counts.cut_short += 1;
 *	return 0;
 *
 * A delay of 0 runs the same code as any other, so that it is a point on the same line.
 */
#include "bpf/tunable.h"

#include "bpf/lsm.h"
#include "bpf/syscall.h"

#include <errno.h>
#include <linux/btf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A program may loop so many times at most; since reading the clock takes 10 ns or more on any
 * machine, so many readings last longer than MAX_DELAY_NS.
 */
#define MAX_LOOPS (1 << 20)

/* The value of the only entry of the map. */
struct shared {
	struct {
		uint64_t delay_ns;
		struct tunable_bpf_counts counts;
	} check[2];
};
enum { INODE, FILE_CHECK, CHECKS };
_Static_assert(sizeof(struct shared) == 64, "the programs address this layout");

static const char *const hooks[CHECKS] = {"inode_permission", "file_permission"};

#define INSN(op, dst, src, offset, immediate) \
	{.code = (op), .dst_reg = (dst), .src_reg = (src), .off = (offset), .imm = (immediate)}
#define MOV(dst, src)		 INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define MOVI(dst, value)	 INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, value)
#define ADDI(dst, value)	 INSN(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, value)
#define SUB(dst, src)		 INSN(BPF_ALU64 | BPF_SUB | BPF_X, dst, src, 0, 0)
#define LOAD(dst, base, offset)	 INSN(BPF_LDX | BPF_MEM | BPF_DW, dst, base, offset, 0)
#define STORE(base, offset, src) INSN(BPF_STX | BPF_MEM | BPF_DW, base, src, offset, 0)
#define ATOMIC_ADD(base, offset, src) \
	INSN(BPF_STX | BPF_ATOMIC | BPF_DW, base, src, offset, BPF_ADD)
#define CALL(helper)			INSN(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define EXIT()				INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define SKIP_IF_LESS(dst, value, count) INSN(BPF_JMP | BPF_JLT | BPF_K, dst, 0, count, value)
#define SKIP_IF_LESS_X(dst, src, count) INSN(BPF_JMP | BPF_JLT | BPF_X, dst, src, count, 0)
/* Two instructions: the address of byte `offset` in the map's value. */
#define MAP_VALUE(dst, fd, offset) \
	INSN(BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_MAP_VALUE, 0, fd), INSN(0, 0, 0, 0, offset)
/* Two instructions: the address of the function `distance` instructions after the next one. */
#define FUNCTION(dst, distance) \
	INSN(BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_FUNC, 0, distance), INSN(0, 0, 0, 0, 0)

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FRAME };
enum { WAIT_START = 0, WAIT_DELAY = 8, WAIT_NOW = 16, WAIT_SIZE = 24 };
enum { DELAY = 0, CALLS = 8, WAITED = 16, CUT_SHORT = 24 };
/* Indices in attach(): of the callback, and of the instruction that takes its address. */
enum { STEP_AT = 25, FUNCTION_AT = 13 };

/* The types that the kernel wants of a program with a callback: its two functions. */
#define STRINGS "\0int\0ctx\0tunable\0index\0step"
enum { S_INT = 1, S_CTX = 5, S_TUNABLE = 9, S_INDEX = 17, S_STEP = 23 };
enum { T_INT = 1, T_PTR, T_MAIN_PROTO, T_MAIN, T_STEP_PROTO, T_STEP };
#define INFO(kind, count) ((uint32_t)(kind) << 24 | (count))

/* clang-format off */
static const uint32_t types[] = {
	S_INT, INFO(BTF_KIND_INT, 0), 4, BTF_INT_SIGNED << 24 | 32,
	0, INFO(BTF_KIND_PTR, 0), 0,
	0, INFO(BTF_KIND_FUNC_PROTO, 1), T_INT, S_CTX, T_PTR,
	S_TUNABLE, INFO(BTF_KIND_FUNC, BTF_FUNC_GLOBAL), T_MAIN_PROTO,
	0, INFO(BTF_KIND_FUNC_PROTO, 2), T_INT, S_INDEX, T_INT, S_CTX, T_PTR,
	S_STEP, INFO(BTF_KIND_FUNC, BTF_FUNC_STATIC), T_STEP_PROTO,
};
/* clang-format on */

static int load_types(void)
{
	struct {
		struct btf_header header;
		uint32_t types[sizeof(types) / sizeof(*types)];
		char strings[sizeof(STRINGS)];
	} data = {
		.header =
			{
				.magic = BTF_MAGIC,
				.version = BTF_VERSION,
				.hdr_len = sizeof(struct btf_header),
				.type_len = sizeof(types),
				.str_off = sizeof(types),
				.str_len = sizeof(STRINGS),
			},
		.strings = STRINGS,
	};
	union bpf_attr attr;

	memcpy(data.types, types, sizeof(types));
	memset(&attr, 0, sizeof(attr));
	attr.btf = (uintptr_t)&data;
	attr.btf_size = sizeof(data.header) + sizeof(types) + sizeof(STRINGS);
	return bpf_call(BPF_BTF_LOAD, &attr);
}

static int attach(int map_fd, int check, int btf_fd)
{
	const int base = check * (int)(sizeof(struct shared) / CHECKS);
	const struct bpf_insn insns[] = {
		MAP_VALUE(R6, map_fd, base),
		MOVI(R1, 1),
		ATOMIC_ADD(R6, CALLS, R1),
		LOAD(R7, R6, DELAY),
		STORE(FRAME, WAIT_DELAY - WAIT_SIZE, R7),
		CALL(BPF_FUNC_ktime_get_ns),
		STORE(FRAME, WAIT_START - WAIT_SIZE, R0),
		STORE(FRAME, WAIT_NOW - WAIT_SIZE, R0),
		MOVI(R1, MAX_LOOPS),
		MOV(R3, FRAME),
		ADDI(R3, -WAIT_SIZE),
		MOVI(R4, 0),
		FUNCTION(R2, STEP_AT - FUNCTION_AT - 1),
		CALL(BPF_FUNC_loop),
		LOAD(R1, FRAME, WAIT_NOW - WAIT_SIZE),
		LOAD(R2, FRAME, WAIT_START - WAIT_SIZE),
		SUB(R1, R2),
		ATOMIC_ADD(R6, WAITED, R1),
		MOVI(R1, 1),
		SKIP_IF_LESS(R0, MAX_LOOPS, 1),
		ATOMIC_ADD(R6, CUT_SHORT, R1),
		MOVI(R0, 0),
		EXIT(),
		/* step */
		MOV(R6, R2),
		CALL(BPF_FUNC_ktime_get_ns),
		STORE(R6, WAIT_NOW, R0),
		LOAD(R1, R6, WAIT_START),
		LOAD(R2, R6, WAIT_DELAY),
		SUB(R0, R1),
		MOV(R1, R0),
		MOVI(R0, 0),
		SKIP_IF_LESS_X(R1, R2, 1),
		MOVI(R0, 1),
		EXIT(),
	};
	const struct bpf_func_info functions[] = {{0, T_MAIN}, {STEP_AT, T_STEP}};
	const struct lsm_program program = {
		.hook = hooks[check],
		.insns = insns,
		.insn_count = sizeof(insns) / sizeof(*insns),
		.btf_fd = btf_fd,
		.functions = functions,
		.function_count = sizeof(functions) / sizeof(*functions),
	};

	return bpf_attach_lsm(&program);
}

static int create_map(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = sizeof(uint32_t);
	attr.value_size = sizeof(struct shared);
	attr.max_entries = 1;
	return bpf_call(BPF_MAP_CREATE, &attr);
}

/* Read or write the map's only entry. */
static int access_map(int map_fd, enum bpf_cmd command, struct shared *value)
{
	uint32_t key = 0;
	union bpf_attr attr;
	int result;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)map_fd;
	attr.key = (uintptr_t)&key;
	attr.value = (uintptr_t)value;
	result = bpf_call(command, &attr);
	return result < 0 ? bpf_fail(-result, "cannot use the BPF map: %s", strerror(-result)) : 0;
}

/*
 * Cause both kinds of access checks: where `bpf` is not among the active LSMs it accepts
 * the programs and never calls them.
 */
static int check_called(const struct tunable_bpf *bpf)
{
	struct tunable_bpf_counts inode, file;
	struct stat status;
	char byte;
	int pipes[2], result;

	if (pipe(pipes) < 0)
		return bpf_fail(errno, "cannot make a pipe: %s", strerror(errno));
	result = stat("/proc/self", &status) < 0 ? errno : 0;
	if (!result && (write(pipes[1], "", 1) != 1 || read(pipes[0], &byte, 1) != 1))
		result = errno;
	close(pipes[0]);
	close(pipes[1]);
	if (result)
		return bpf_fail(result, "cannot try the BPF programs (is /proc mounted?): %s",
				strerror(result));
	result = tunable_bpf_counts(bpf, &inode, &file);
	if (result)
		return result;
	if (!inode.calls || !file.calls)
		return bpf_fail(EOPNOTSUPP, "the kernel does not call BPF programs on LSM hooks:"
					    " bpf is not among the active LSMs (lsm=...,bpf)");
	return 0;
}

int tunable_bpf_load(struct tunable_bpf *bpf)
{
	int check, btf_fd, result = 0;

	*bpf = (struct tunable_bpf){-1, {-1, -1}};
	btf_fd = load_types();
	bpf->map_fd = btf_fd < 0 ? btf_fd : create_map();
	if (bpf->map_fd < 0) {
		result = bpf->map_fd;
		bpf_fail(-result, "the kernel refuses BPF types or maps: %s", strerror(-result));
	}
	for (check = 0; check < CHECKS && !result; check++) {
		bpf->links[check] = attach(bpf->map_fd, check, btf_fd);
		if (bpf->links[check] < 0)
			result = bpf->links[check];
	}
	if (btf_fd >= 0)
		close(btf_fd);
	if (!result)
		result = check_called(bpf);
	if (!result)
		result = tunable_bpf_set(bpf, 0, 0);
	if (result)
		tunable_bpf_unload(bpf);
	return result;
}

int tunable_bpf_set(const struct tunable_bpf *bpf, uint64_t inode_ns, uint64_t file_ns)
{
	struct shared value;

	if (inode_ns > MAX_DELAY_NS || file_ns > MAX_DELAY_NS)
		return bpf_fail(ERANGE, "a wait of %llu ns is beyond the limit of %llu ns",
				(unsigned long long)(inode_ns > file_ns ? inode_ns : file_ns),
				(unsigned long long)MAX_DELAY_NS);
	memset(&value, 0, sizeof(value));
	value.check[INODE].delay_ns = inode_ns;
	value.check[FILE_CHECK].delay_ns = file_ns;
	return access_map(bpf->map_fd, BPF_MAP_UPDATE_ELEM, &value);
}

int tunable_bpf_counts(const struct tunable_bpf *bpf, struct tunable_bpf_counts *inode,
		       struct tunable_bpf_counts *file)
{
	struct shared value;
	int result = access_map(bpf->map_fd, BPF_MAP_LOOKUP_ELEM, &value);

	if (result)
		return result;
	*inode = value.check[INODE].counts;
	*file = value.check[FILE_CHECK].counts;
	return 0;
}

void tunable_bpf_unload(struct tunable_bpf *bpf)
{
	int check;

	for (check = 0; check < CHECKS; check++) {
		if (bpf->links[check] >= 0)
			close(bpf->links[check]);
		bpf->links[check] = -1;
	}
	if (bpf->map_fd >= 0)
		close(bpf->map_fd);
	bpf->map_fd = -1;
}
