/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arm64: see arch.h. As on x86_64, the measured regions are assembler from end to end.
 */
#ifndef LSMETER_ARCH_ARM64_H
#define LSMETER_ARCH_ARM64_H

#include "../../plugin/markers.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* Where results go: the board's own serial line is the console. */
#define ARCH_RESULT_PORT "/dev/ttyS0"

/* The virtual counter in `into`; isb keeps real hardware from reading it early. */
#define READ_COUNTER(into) "isb\n\tmrs " into ", cntvct_el0\n\t"

/* As on x86_64, only a plugin sees it: moves into the register that is always 0. */
#define TEXT_OF(...)  TEXT_OF_(__VA_ARGS__)
#define TEXT_OF_(...) #__VA_ARGS__
#define MARK(number) \
	"movz xzr, #(" number ") >> 16, lsl #16\n\t" \
	"movk xzr, #(" number ") & 0xffff\n\t"
/* With as many instructions between markers that the counter does not see as on x86_64. */
#define ARCH_MARK_BEGIN	  MARK(TEXT_OF(MARKER_BEGIN)) "nop\n\t"
#define ARCH_MARK_END	  MARK(TEXT_OF(MARKER_END))
#define ARCH_MARK_NIBBLE  MARK(TEXT_OF(MARKER_NIBBLE) " + %c0")
#define ARCH_MARK_ACCOUNT MARK(TEXT_OF(MARKER_ACCOUNT) " + %c0")

static inline uint64_t arch_counter(void)
{
	uint64_t now;

	asm volatile(READ_COUNTER("%0") : "=r"(now) : : "memory");
	return now;
}

/* Begin the region; the counter just after. */
static inline uint64_t arch_mark_begin(void)
{
	uint64_t now;

	asm volatile(ARCH_MARK_BEGIN READ_COUNTER("%0") : "=r"(now) : : "memory");
	return now;
}

/* End the region; the counter just before. */
static inline uint64_t arch_mark_end(void)
{
	uint64_t now;

	asm volatile(READ_COUNTER("%0") ARCH_MARK_END : "=r"(now) : : "memory");
	return now;
}

/* Time on hardware: the virtual counter runs at one rate, by architecture, on all processors. */
#define ARCH_CLOCK_NAME "cntvct"

static inline bool arch_clock_steady(void)
{
	return true;
}

/* Ticks a second, as the firmware says. */
static inline uint64_t arch_clock_hz(void)
{
	uint64_t hz;

	asm volatile("mrs %0, cntfrq_el0" : "=r"(hz));
	return hz;
}

static inline uint64_t arch_clock(uint32_t *cpu)
{
	uint64_t now;

	*cpu = (uint32_t)sched_getcpu();
	asm volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(now) : : "memory");
	return now;
}

/* Whether a hypervisor says that it is there. */
static inline bool arch_is_virtual(void)
{
	return !access("/proc/device-tree/hypervisor", F_OK);
}

/* `rounds` times eight additions of which each waits for the one before: eight cycles. */
static inline void arch_additions(uint64_t rounds)
{
	uint64_t sum = 0;

	asm volatile("1:\n\t.rept 8\n\tadd %[sum], %[sum], #1\n\t.endr\n\t"
		     "subs %[rounds], %[rounds], #1\n\tb.ne 1b"
		     : [sum] "+r"(sum), [rounds] "+r"(rounds)
		     :
		     : "cc");
}

/*
 * Of struct call: its number, its arguments, its result; sampler/region.c asserts the offsets. The
 * fifth argument is 0: linkat() has flags there.
 */
#define CALL_WITH(operand, instruction) \
	"ldr x8, [" operand "]\n\t" \
	"ldp x0, x1, [" operand ", #8]\n\t" \
	"ldp x2, x3, [" operand ", #24]\n\t" \
	"mov x4, xzr\n\t" instruction "\n\t" \
	"str x0, [" operand ", #56]\n\t"

#define CALL(operand) CALL_WITH(operand, "svc #0")

#define CALL_CLOBBERS "x0", "x1", "x2", "x3", "x4", "x5", "x8", "cc", "memory"

static inline uint64_t arch_region_none(void)
{
	uint64_t first, second;

	asm volatile(ARCH_MARK_BEGIN READ_COUNTER("%[first]") READ_COUNTER("%[second]")
			     ARCH_MARK_END
		     : [first] "=&r"(first), [second] "=&r"(second)
		     :
		     : "memory");
	return second - first;
}

static inline uint64_t arch_region_one(void *call)
{
	uint64_t first, second;

	asm volatile(ARCH_MARK_BEGIN READ_COUNTER("%[first]") CALL("%[call]")
			     READ_COUNTER("%[second]") ARCH_MARK_END
		     : [first] "=&r"(first), [second] "=&r"(second)
		     : [call] "r"(call)
		     : CALL_CLOBBERS);
	return second - first;
}

static inline uint64_t arch_region_two(void *call, void *next)
{
	uint64_t first, second;

	asm volatile(ARCH_MARK_BEGIN READ_COUNTER("%[first]") CALL("%[call]") CALL("%[next]")
			     READ_COUNTER("%[second]") ARCH_MARK_END
		     : [first] "=&r"(first), [second] "=&r"(second)
		     : [call] "r"(call), [next] "r"(next)
		     : CALL_CLOBBERS);
	return second - first;
}

/* Make a call of up to four arguments. */
static inline void arch_call(void *call)
{
	asm volatile(CALL("%[call]") : : [call] "r"(call) : CALL_CLOBBERS);
}

/* The same instructions, with a NOP for the system call. */
static inline void arch_call_skip(void *call)
{
	asm volatile(CALL_WITH("%[call]", "nop") : : [call] "r"(call) : CALL_CLOBBERS);
}

/* Make a call of up to six arguments; in place, as on x86_64. */
static inline __attribute__((always_inline)) void arch_call_all(void *call)
{
	asm volatile("ldr x8, [%[call]]\n\t"
		     "ldp x0, x1, [%[call], #8]\n\t"
		     "ldp x2, x3, [%[call], #24]\n\t"
		     "ldp x4, x5, [%[call], #40]\n\t"
		     "svc #0\n\t"
		     "str x0, [%[call], #56]"
		     :
		     : [call] "r"(call)
		     : CALL_CLOBBERS);
}

static inline long arch_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 asm("x8") = nr;
	register long x0 asm("x0") = a;
	register long x1 asm("x1") = b;
	register long x2 asm("x2") = c;
	register long x3 asm("x3") = d;
	register long x4 asm("x4") = e;
	register long x5 asm("x5") = f;

	asm volatile("svc #0"
		     : "+r"(x0)
		     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
		     : "cc", "memory");
	return x0;
}

static inline long arch_syscall4(long nr, long a, long b, long c, long d)
{
	return arch_syscall6(nr, a, b, c, d, 0, 0);
}

#define ARCH_ELF_MACHINE 183 /* EM_AARCH64 */

/* exit_group(0). */
static const unsigned char arch_code_exit[] = {
	0x00, 0x00, 0x80, 0xd2, /* mov x0, #0 */
	0xc8, 0x0b, 0x80, 0xd2, /* mov x8, #SYS_exit_group */
	0x01, 0x00, 0x00, 0xd4, /* svc #0 */
};

/* execve(name that follows, argv as it is, no environment), exit_group(1). */
static const unsigned char arch_code_exec[] = {
	0x00, 0x01, 0x00, 0x10, /* adr x0, 32: behind the code */
	0xe1, 0x23, 0x00, 0x91, /* add x1, sp, #8 */
	0x02, 0x00, 0x80, 0xd2, /* mov x2, #0 */
	0xa8, 0x1b, 0x80, 0xd2, /* mov x8, #SYS_execve */
	0x01, 0x00, 0x00, 0xd4, /* svc #0 */
	0x20, 0x00, 0x80, 0xd2, /* mov x0, #1 */
	0xc8, 0x0b, 0x80, 0xd2, /* mov x8, #SYS_exit_group */
	0x01, 0x00, 0x00, 0xd4, /* svc #0 */
};

/* Make a thread on a stack of its own; the thread itself makes SYS_exit and touches nothing. */
static inline long arch_thread(long flags, void *stack, int *cleared)
{
	register long x8 asm("x8") = SYS_clone;
	register long x0 asm("x0") = flags;
	register long x1 asm("x1") = (long)stack;
	register long x2 asm("x2") = 0;
	register long x3 asm("x3") = 0;
	register long x4 asm("x4") = (long)cleared;

	asm volatile("svc #0\n\t"
		     "cbnz x0, 1f\n\t"
		     "mov x8, %[exit]\n\t"
		     "svc #0\n\t"
		     "1:"
		     : "+r"(x0), "+r"(x8)
		     : "r"(x1), "r"(x2), "r"(x3), "r"(x4), [exit] "i"(SYS_exit)
		     : "cc", "memory");
	return x0;
}

/* Where a handler of a signal returns to; of this file, for want of functions that are naked. */
asm(".pushsection .text\n"
    "arch_restorer:\n\t"
    "mov x8, #" TEXT_OF(SYS_rt_sigreturn) "\n\tsvc #0\n"
					  ".popsection");
__attribute__((visibility("hidden"))) void arch_restorer(void);

/* Store a byte, with one instruction. */
static inline void arch_store(void *at)
{
	asm volatile("strb wzr, [%0]" : : "r"(at) : "memory");
}

/* In a handler with SA_SIGINFO: go on behind the store that faulted. context: ucontext_t. */
static inline void arch_skip_store(void *context)
{
	((ucontext_t *)context)->uc_mcontext.pc += 4;
}

/* Number and four arguments of calls that this architecture has in their younger form only. */
#define AS_ACCESS(path, mode)	     SYS_faccessat, AT_FDCWD, (long)(path), mode, 0
#define AS_CHMOD(path, mode)	     SYS_fchmodat, AT_FDCWD, (long)(path), mode, 0
#define AS_DUP_TO(from, to)	     SYS_fcntl, from, F_DUPFD, to, 0
#define AS_CREAT(path, mode)	     AS_OPEN(path, O_CREAT | O_WRONLY | O_TRUNC, mode)
#define AS_EPOLL_WAIT(at, to, most)  SYS_epoll_pwait, at, to, most, 0
#define AS_FORK()		     SYS_clone, SIGCHLD, 0, 0, 0
#define AS_LINK(from, to)	     SYS_linkat, AT_FDCWD, (long)(from), AT_FDCWD, (long)(to)
#define AS_MKDIR(path, mode)	     SYS_mkdirat, AT_FDCWD, (long)(path), mode, 0
#define AS_OPEN(path, flags, mode)   SYS_openat, AT_FDCWD, (long)(path), flags, mode
#define AS_PAUSE()		     SYS_ppoll, 0, 0, 0, 0
#define AS_PIPE(ends)		     SYS_pipe2, (long)(ends), 0, 0, 0
#define AS_POLL(of, count, zero)     SYS_ppoll, of, count, zero, 0
#define AS_RENAME(from, to)	     SYS_renameat, AT_FDCWD, (long)(from), AT_FDCWD, (long)(to)
#define AS_RMDIR(path)		     SYS_unlinkat, AT_FDCWD, (long)(path), AT_REMOVEDIR, 0
#define AS_STAT(path, buffer)	     AS_FSTATAT(AT_FDCWD, path, buffer)
#define AS_FSTATAT(at, path, buffer) SYS_newfstatat, at, (long)(path), (long)(buffer), 0
#define AS_SYMLINK(target, path)     SYS_symlinkat, (long)(target), AT_FDCWD, (long)(path), 0
#define AS_VFORK()		     SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0
#define AS_UNLINK(path)		     SYS_unlinkat, AT_FDCWD, (long)(path), 0, 0

/* With a time as the fifth, which is 0. */
#define ARCH_NR_SELECT SYS_pselect6

/* What the catalogue has to know of them, and of others that differ. */
#define ARCH_CALL_TRAITS \
	{SYS_faccessat, NULL, NULL, PATH_IS(1)}, {SYS_fchmodat, NULL, NULL, PATH_IS(1)}, \
		{SYS_linkat, NULL, NULL, PATH_IS(1) | PATH_IS(3)}, \
		{SYS_mkdirat, NULL, NULL, PATH_IS(1)}, \
		{SYS_newfstatat, "fstatat", NULL, PATH_IS(1)}, \
		{SYS_renameat, NULL, NULL, PATH_IS(1) | PATH_IS(3)}, \
		{SYS_symlinkat, NULL, NULL, PATH_IS(2)}, \
	{ \
		SYS_unlinkat, NULL, NULL, PATH_IS(1) \
	}

/* Instructions that cost an emulator next to nothing, since they stand in one row. */
static inline void arch_piece(void)
{
	asm volatile(".rept 480\n\tnop\n\t.endr");
}

#define CPU_MODEL_BYTES 49

/* False: a processor has a number, and no name. */
static inline bool arch_cpu_model(char model[CPU_MODEL_BYTES])
{
	model[0] = '\0';
	return false;
}

#endif
