/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86_64: see arch.h. The measured regions are assembler from end to end, so that no compiler
 * option changes a reading.
 */
#ifndef LSMETER_ARCH_X86_64_H
#define LSMETER_ARCH_X86_64_H

#include "../../plugin/markers.h"

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

/* Where results go: the second serial line. */
#define ARCH_RESULT_PORT "/dev/ttyS1"

/*
 * Leave the 64-bit counter in rax; rdx is lost. lfence keeps real hardware from moving rdtsc
 * across the calls; under emulation it is one instruction like any other, the same at both ends.
 */
#define READ_TSC \
	"lfence\n\t" \
	"rdtsc\n\t" \
	"shl $32, %%rdx\n\t" \
	"or %%rdx, %%rax\n\t"

/*
 * A QEMU plugin sees a marker by its bytes, so the probe needs no privilege; everywhere else it
 * does nothing.
 */
#define TEXT_OF(...)	TEXT_OF_(__VA_ARGS__)
#define TEXT_OF_(...)	#__VA_ARGS__
#define MARK(number)	".byte " TEXT_OF(MARKER_NOP_X86) "\n\t.long " TEXT_OF(number) "\n\t"
#define ARCH_MARK_BEGIN MARK(MARKER_BEGIN)
#define ARCH_MARK_END	MARK(MARKER_END)
#define ARCH_MARK_NIBBLE \
	".byte " TEXT_OF(MARKER_NOP_X86) "\n\t.long " TEXT_OF(MARKER_NIBBLE) " + %c0"
#define ARCH_MARK_ACCOUNT \
	".byte " TEXT_OF(MARKER_NOP_X86) "\n\t.long " TEXT_OF(MARKER_ACCOUNT) " + %c0"

static inline uint64_t arch_counter(void)
{
	uint64_t now;

	asm volatile(READ_TSC : "=&a"(now) : : "rdx", "cc", "memory");
	return now;
}

/* Begin the region; the counter just after. */
static inline uint64_t arch_mark_begin(void)
{
	uint64_t now;

	asm volatile(ARCH_MARK_BEGIN READ_TSC : "=&a"(now) : : "rdx", "cc", "memory");
	return now;
}

/* End the region; the counter just before. */
static inline uint64_t arch_mark_end(void)
{
	uint64_t now;

	asm volatile(READ_TSC ARCH_MARK_END : "=&a"(now) : : "rdx", "cc", "memory");
	return now;
}

/*
 * Time on hardware. arch_clock_steady() says that the counter runs at one rate whatever the
 * processor does (invariant TSC), and that it names the CPU that it was read on. rdtscp waits for
 * all that stands before it, the lfence holds back what comes after: nothing of a region is moved
 * out of it.
 */
#define ARCH_CLOCK_NAME "tsc"

static inline bool arch_clock_steady(void)
{
	unsigned int a, b, c, d;

	if (!__get_cpuid(0x80000001u, &a, &b, &c, &d) || !(d & 1u << 27))
		return false;
	return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & 1u << 8);
}

/* Ticks a second where the processor itself says it (leaf 15h), else 0. */
static inline uint64_t arch_clock_hz(void)
{
	unsigned int denominator, numerator, crystal_hz, d;

	if (!__get_cpuid(0x15u, &denominator, &numerator, &crystal_hz, &d) || !denominator)
		return 0;
	return (uint64_t)crystal_hz * numerator / denominator;
}

static inline uint64_t arch_clock(uint32_t *cpu)
{
	uint32_t low, high;

	asm volatile("rdtscp\n\tlfence" : "=a"(low), "=d"(high), "=c"(*cpu) : : "memory");
	return (uint64_t)high << 32 | low;
}

/* Whether a hypervisor says that it is there. */
static inline bool arch_is_virtual(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && (c & 1u << 31);
}

/* `rounds` times eight additions of which each waits for the one before: eight cycles. */
static inline void arch_additions(uint64_t rounds)
{
	uint64_t sum = 0;

	asm volatile("1:\n\t.rept 8\n\tadd %[one], %[sum]\n\t.endr\n\tdec %[rounds]\n\tjnz 1b"
		     : [sum] "+r"(sum), [rounds] "+r"(rounds)
		     : [one] "r"(1ul)
		     : "cc");
}

/* Of struct call: its number, its arguments, its result; sampler/region.c asserts the offsets. */
#define CALL_WITH(operand, instruction) \
	"mov 0(" operand "), %%rax\n\t" \
	"mov 8(" operand "), %%rdi\n\t" \
	"mov 16(" operand "), %%rsi\n\t" \
	"mov 24(" operand "), %%rdx\n\t" \
	"mov 32(" operand "), %%r10\n\t" instruction "\n\t" \
	"mov %%rax, 56(" operand ")\n\t"

#define CALL(operand) CALL_WITH(operand, "syscall")

#define CALL_CLOBBERS "rdx", "rcx", "rdi", "rsi", "r10", "r11", "cc", "memory"

/*
 * What a region costs by itself (loading registers, the second rdtsc) is in every reading, and is
 * what the benchmark `empty` shows.
 */
static inline uint64_t arch_region_none(void)
{
	uint64_t first, second;

	asm volatile(ARCH_MARK_BEGIN READ_TSC "mov %%rax, %[first]\n\t" READ_TSC ARCH_MARK_END
		     : [first] "=&r"(first), "=&a"(second)
		     :
		     : "rdx", "cc", "memory");
	return second - first;
}

static inline uint64_t arch_region_one(void *call)
{
	uint64_t first, second;

	asm volatile(ARCH_MARK_BEGIN READ_TSC "mov %%rax, %[first]\n\t" CALL("%[call]")
			     READ_TSC ARCH_MARK_END
		     : [first] "=&r"(first), "=&a"(second)
		     : [call] "r"(call)
		     : CALL_CLOBBERS);
	return second - first;
}

static inline uint64_t arch_region_two(void *call, void *next)
{
	uint64_t first, second;

	asm volatile(ARCH_MARK_BEGIN READ_TSC "mov %%rax, %[first]\n\t" CALL("%[call]")
			     CALL("%[next]") READ_TSC ARCH_MARK_END
		     : [first] "=&r"(first), "=&a"(second)
		     : [call] "r"(call), [next] "r"(next)
		     : CALL_CLOBBERS);
	return second - first;
}

/* Make a call of up to four arguments. */
static inline void arch_call(void *call)
{
	register long rax asm("rax");

	asm volatile(CALL("%[call]") : "=&a"(rax) : [call] "r"(call) : CALL_CLOBBERS);
}

/* The same instructions, with a NOP for the system call. */
static inline void arch_call_skip(void *call)
{
	register long rax asm("rax");

	asm volatile(CALL_WITH("%[call]", "nop") : "=&a"(rax) : [call] "r"(call) : CALL_CLOBBERS);
}

/*
 * Make a call of up to six arguments, in the function that this is used in: what shares the stack
 * of its parent (vfork) returns to nobody.
 */
static inline __attribute__((always_inline)) void arch_call_all(void *call)
{
	register long rax asm("rax");

	asm volatile("mov 40(%[call]), %%r8\n\t"
		     "mov 48(%[call]), %%r9\n\t" CALL("%[call]")
		     : "=&a"(rax)
		     : [call] "r"(call)
		     : "r8", "r9", CALL_CLOBBERS);
}

static inline long arch_syscall4(long nr, long a, long b, long c, long d)
{
	long result;
	register long r10 asm("r10") = d;

	asm volatile("syscall"
		     : "=a"(result)
		     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
		     : "rcx", "r11", "memory");
	return result;
}

static inline long arch_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
	long result;
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;
	register long r9 asm("r9") = f;

	asm volatile("syscall"
		     : "=a"(result)
		     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		     : "rcx", "r11", "memory");
	return result;
}

#define ARCH_ELF_MACHINE 62 /* EM_X86_64 */

/* exit_group(0). */
static const unsigned char arch_code_exit[] = {
	0x31, 0xff,		      /* xor %edi, %edi */
	0xb8, 0xe7, 0x00, 0x00, 0x00, /* mov $SYS_exit_group, %eax */
	0x0f, 0x05,		      /* syscall */
};

/* execve(name that follows, argv as it is, no environment), exit_group(1). */
static const unsigned char arch_code_exec[] = {
	0xb8, 0x3b, 0x00, 0x00, 0x00,		  /* mov $SYS_execve, %eax */
	0x48, 0x8d, 0x3d, 0x15, 0x00, 0x00, 0x00, /* lea 21(%rip), %rdi: behind the code */
	0x48, 0x8d, 0x74, 0x24, 0x08,		  /* lea 8(%rsp), %rsi */
	0x31, 0xd2,				  /* xor %edx, %edx */
	0x0f, 0x05,				  /* syscall */
	0xbf, 0x01, 0x00, 0x00, 0x00,		  /* mov $1, %edi */
	0xb8, 0xe7, 0x00, 0x00, 0x00,		  /* mov $SYS_exit_group, %eax */
	0x0f, 0x05,				  /* syscall */
};

/* Make a thread on a stack of its own; the thread itself makes SYS_exit and touches nothing. */
static inline long arch_thread(long flags, void *stack, int *cleared)
{
	long result;
	register long r10 asm("r10") = (long)cleared;

	asm volatile("syscall\n\t"
		     "test %%rax, %%rax\n\t"
		     "jnz 1f\n\t"
		     "xor %%edi, %%edi\n\t"
		     "mov %[exit], %%eax\n\t"
		     "syscall\n\t"
		     "1:"
		     : "=a"(result)
		     : "a"(SYS_clone), "D"(flags), "S"(stack), "d"(0),
		       "r"(r10), [exit] "i"(SYS_exit)
		     : "rcx", "r11", "cc", "memory");
	return result;
}

/* Where a handler of a signal returns to. */
__attribute__((naked, used)) static void arch_restorer(void)
{
	asm volatile("mov %0, %%eax\n\tsyscall" : : "i"(SYS_rt_sigreturn));
}

/* Store a byte, with an instruction of a length that arch_skip_store() knows. */
static inline void arch_store(void *at)
{
	asm volatile(".byte 0xc6, 0x07, 0x00" : : "D"(at) : "memory"); /* movb $0, (%rdi) */
}

/* In a handler with SA_SIGINFO: go on behind the store that faulted. context: ucontext_t. */
static inline void arch_skip_store(void *context)
{
	const unsigned int rip = 40 + 16 * 8; /* uc_mcontext, then 16 registers before it */

	*(uint64_t *)((char *)context + rip) += 3;
}

/*
 * Number and four arguments of calls that younger architectures have in another form only
 * (openat for open), for sys4() and CALLS().
 */
#define AS_ACCESS(path, mode)	     SYS_access, (long)(path), mode, 0, 0
#define AS_CHMOD(path, mode)	     SYS_chmod, (long)(path), mode, 0, 0
#define AS_CREAT(path, mode)	     SYS_creat, (long)(path), mode, 0, 0
#define AS_DUP_TO(from, to)	     SYS_dup2, from, to, 0, 0
#define AS_EPOLL_WAIT(at, to, most)  SYS_epoll_wait, at, to, most, 0
#define AS_FORK()		     SYS_fork, 0, 0, 0, 0
#define AS_LINK(from, to)	     SYS_link, (long)(from), (long)(to), 0, 0
#define AS_MKDIR(path, mode)	     SYS_mkdir, (long)(path), mode, 0, 0
#define AS_OPEN(path, flags, mode)   SYS_open, (long)(path), flags, mode, 0
#define AS_PAUSE()		     SYS_pause, 0, 0, 0, 0
#define AS_PIPE(ends)		     SYS_pipe, (long)(ends), 0, 0, 0
#define AS_POLL(of, count, zero)     SYS_poll, of, count, 0, 0
#define AS_RENAME(from, to)	     SYS_rename, (long)(from), (long)(to), 0, 0
#define AS_RMDIR(path)		     SYS_rmdir, (long)(path), 0, 0, 0
#define AS_STAT(path, buffer)	     SYS_stat, (long)(path), (long)(buffer), 0, 0
#define AS_FSTATAT(at, path, buffer) SYS_newfstatat, at, (long)(path), (long)(buffer), 0
#define AS_SYMLINK(target, path)     SYS_symlink, (long)(target), (long)(path), 0, 0
#define AS_VFORK()		     SYS_vfork, 0, 0, 0, 0
#define AS_UNLINK(path)		     SYS_unlink, (long)(path), 0, 0, 0

/* With a time as the fifth, which is 0. */
#define ARCH_NR_SELECT SYS_select

/* What the catalogue has to know of them, and of others that differ. */
#define ARCH_CALL_TRAITS \
	{SYS_chmod, NULL, NULL, PATH_IS(0)}, {SYS_creat, NULL, NULL, PATH_IS(0)}, \
		{SYS_mkdir, NULL, NULL, PATH_IS(0)}, {SYS_open, NULL, NULL, PATH_IS(0)}, \
		{SYS_rename, NULL, NULL, PATH_IS(0) | PATH_IS(1)}, \
		{SYS_rmdir, NULL, NULL, PATH_IS(0)}, {SYS_stat, NULL, "newstat", PATH_IS(0)}, \
		{SYS_newfstatat, "fstatat", NULL, PATH_IS(1)}, \
		{SYS_symlink, NULL, NULL, PATH_IS(1)}, {SYS_access, NULL, NULL, PATH_IS(0)}, \
		{SYS_link, NULL, NULL, PATH_IS(0) | PATH_IS(1)}, \
	{ \
		SYS_unlink, NULL, NULL, PATH_IS(0) \
	}

/* Instructions that cost an emulator next to nothing, since they stand in one row. */
static inline void arch_piece(void)
{
	asm volatile(".rept 480\n\tnop\n\t.endr");
}

#define CPU_MODEL_BYTES 49

/* False where the processor has no name. */
static inline bool arch_cpu_model(char model[CPU_MODEL_BYTES])
{
	unsigned int word[12];

	for (unsigned int i = 0; i < 3; i++) {
		if (!__get_cpuid(0x80000002u + i, &word[4 * i], &word[4 * i + 1], &word[4 * i + 2],
				 &word[4 * i + 3]))
			return false;
	}
	memcpy(model, word, sizeof(word));
	model[sizeof(word)] = '\0';
	return true;
}

#endif
