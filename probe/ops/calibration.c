// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The suite `calibration`: programs in which instructions, loads, stores, branches, returns,
 * atomics and misses vary apart, so that weights can tell them from each other. Filters of a socket
 * are straight lines of instructions of one kind, which run once for each datagram and then drop
 * it.
 */
#include "ops/define.h"

#include <linux/filter.h>
#include <sys/socket.h>

#define SUITE	 "calibration"
#define MOST	 1000
#define INSECURE 4 /* GRND_INSECURE: waits for nothing */

ROWS(ROW("poll", "fds=10", "poll on 10 descriptors", "syscall", "poll fds=10"),
     ROW("poll", "fds=500", "poll on 500 descriptors", "syscall", "poll fds=500"),
     ROW("select", "fds=100", "select on 100 descriptors", "syscall", "select fds=100"),
     ROW("select", "fds=500", "select on 500 descriptors", "syscall", "select fds=500"),
     ROW("getdents", "entries=10", "getdents of 10 files", "syscall", "getdents entries=10"),
     ROW("getdents", "entries=1000", "getdents of 1000 files", "syscall", "getdents entries=1000"));

enum kind { PLAIN, CHAIN, LOAD, STORE, JUMP, DIVIDE, CALL, RANDOM, GUESS };

#define LD_IMM	    (BPF_LD | BPF_IMM)
#define LDX_IMM	    (BPF_LDX | BPF_IMM)
#define ADD	    (BPF_ALU | BPF_ADD | BPF_K)
#define ADD_X	    (BPF_ALU | BPF_ADD | BPF_X)
#define ANCILLARY   (BPF_LD | BPF_W | BPF_ABS)
#define TOLD(what)  BPF_STMT(ANCILLARY, (uint32_t)(SKF_AD_OFF + (what)))
#define LINE_LENGTH 4

/* Repeated to the length of a filter. A jump goes over one instruction, or over none. */
static const struct sock_filter line[][LINE_LENGTH] = {
	[PLAIN] = {BPF_STMT(LD_IMM, 1), BPF_STMT(ADD, 3), BPF_STMT(ADD_X, 0), BPF_STMT(LDX_IMM, 7)},
	[CHAIN] = {BPF_STMT(ADD, 3), BPF_STMT(BPF_ALU | BPF_XOR | BPF_K, 5), BPF_STMT(ADD_X, 0),
		   BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 1)},
	[LOAD] = {BPF_STMT(BPF_LD | BPF_MEM, 0), BPF_STMT(BPF_LDX | BPF_MEM, 1), BPF_STMT(ADD_X, 0),
		  BPF_STMT(BPF_LD | BPF_MEM, 2)},
	[STORE] = {BPF_STMT(BPF_ST, 0), BPF_STMT(BPF_STX, 1), BPF_STMT(ADD, 3),
		   BPF_STMT(BPF_ST, 2)},
	[JUMP] = {BPF_STMT(LD_IMM, 5), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 5, 1, 0),
		  BPF_STMT(ADD, 3), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 9, 1, 0)},
	[DIVIDE] = {BPF_STMT(LD_IMM, 7777777), BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 3),
		    BPF_STMT(ADD, 3), BPF_STMT(LDX_IMM, 7)},
	[CALL] = {BPF_STMT(LD_IMM, 0), TOLD(SKF_AD_NLATTR), BPF_STMT(LD_IMM, 0),
		  TOLD(SKF_AD_NLATTR)},
	[RANDOM] = {TOLD(SKF_AD_RANDOM), BPF_STMT(ADD, 3), BPF_STMT(ADD, 3), BPF_STMT(ADD, 3)},
	[GUESS] = {TOLD(SKF_AD_RANDOM), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 1, 0),
		   BPF_STMT(ADD, 3), BPF_STMT(ADD, 3)},
};

static char byte;

/* An end of a pair whose other end drops every datagram, after so many lines of a kind. */
static int filter_setup(struct bench *bench)
{
	static struct sock_filter code[MOST + 5];
	long kind = bench->variant->value / (MOST + 1), length = bench->variant->value % (MOST + 1);
	struct sock_fprog program = {.filter = code};
	unsigned short at = 0;
	long error = sys4(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, (long)bench->fd);

	if (error)
		return (int)error;
	for (unsigned int i = 0; i < 3; i++)
		code[at++] = (struct sock_filter)BPF_STMT(BPF_ST, i);
	for (long i = 0; i < length; i++)
		code[at++] = line[kind][i % LINE_LENGTH];
	code[at++] = (struct sock_filter)BPF_STMT(ADD, 3); /* for a jump at the end */
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	program.len = at;
	return (int)sys6(SYS_setsockopt, bench->fd[1], SOL_SOCKET, SO_ATTACH_FILTER, (long)&program,
			 sizeof(program), 0);
}

static int filter_arm(struct bench *bench)
{
	return one(
		bench,
		(struct call){.nr = SYS_write, .arg = {bench->fd[0], (long)&byte, 1}, .want = 1});
}

static int close_both(struct bench *bench)
{
	int error = sys_close(bench->fd[0]);

	return error ? error : sys_close(bench->fd[1]);
}

#define FILTER(word, kind, length) \
	VARIANT("kind=" word ",insns=" #length, \
		"a datagram dropped by a filter of " #length " instructions: " word, \
		(kind) * (MOST + 1) + (length))
#define FILTERS(word, kind) FILTER(word, kind, 100), FILTER(word, kind, 600)
VARIANTS(filter, FILTERS("plain", PLAIN), FILTERS("chain", CHAIN), FILTERS("load", LOAD),
	 FILTERS("store", STORE), FILTERS("jump", JUMP), FILTERS("divide", DIVIDE),
	 FILTERS("call", CALL), FILTERS("random", RANDOM), FILTERS("guess", GUESS));
DEFINE_OP(filter, "filter", .setup = filter_setup, .teardown = close_both,
	  .needs = "filter of a socket");

/* Locks and their atomics: all but the last of these words could be waited for. */
static struct {
	uint64_t expected, word;
	uint32_t flags, reserved;
} waiters[128];
static uint32_t words[ARRAY_SIZE(waiters)];

static int futexes_arm(struct bench *bench)
{
	long count = bench->variant->value;

	for (long i = 0; i < count; i++) {
		waiters[i].expected = i == count - 1;
		waiters[i].word = (uintptr_t)&words[i];
		waiters[i].flags = 2 | 128; /* FUTEX2_SIZE_U32 | FUTEX2_PRIVATE */
	}
	return one(bench, (struct call){.nr = SYS_futex_waitv,
					.arg = {(long)waiters, count},
					.want = -EAGAIN});
}
VARIANTS(futexes, VARIANT("words=8", "futex_waitv of 8 words, one of which has changed", 8),
	 VARIANT("words=128", "futex_waitv of 128 words, one of which has changed", 128));
DEFINE_OP(futexes, "futexes", .needs = "futex_waitv");

/* Arithmetic in registers. */
static char bytes[64];

static int random_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_getrandom,
					.arg = {(long)bytes, sizeof(bytes), INSECURE},
					.want = sizeof(bytes)});
}
ALONE(random, "getrandom of 64 bytes");
DEFINE_OP(random, "getrandom");
