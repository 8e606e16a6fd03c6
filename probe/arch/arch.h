/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What differs between architectures, one header each. It gives
 *
 *	ARCH_MARK_BEGIN, ARCH_MARK_END, ARCH_MARK_NIBBLE, ARCH_MARK_ACCOUNT:
 *	markers, as text for asm
 *	arch_counter, and with a marker before or after it arch_mark_begin, arch_mark_end
 *	arch_clock_steady, arch_clock_hz, arch_clock, ARCH_CLOCK_NAME: time on hardware
 *	arch_is_virtual: whether a hypervisor says that it is there
 *	arch_additions: work of a known number of cycles
 *	arch_region_none, arch_region_one, arch_region_two: the measured regions
 *	arch_call, arch_call_skip, arch_call_all: one call of a struct call (ops/bench.h)
 *	arch_syscall4, arch_syscall6: a system call with so many arguments
 *	ARCH_NR_SELECT: the number of a call with a set of descriptors and a time
 *	AS_OPEN and others: number and arguments of calls that not all architectures have
 *	ARCH_CALL_TRAITS: what the catalogue has to know of those calls
 *	ARCH_ELF_MACHINE: what an ELF file says of its machine
 *	arch_code_exit, arch_code_exec: programs that exit, and that execute the name after them
 *	arch_thread: a thread that exits at once
 *	arch_restorer, arch_store, arch_skip_store: handlers of signals, and a store that faults
 *	arch_piece: a row of instructions that do nothing
 *	arch_cpu_model: the processor's name
 *	ARCH_RESULT_PORT: the device that results go to
 */
#ifndef LSMETER_ARCH_H
#define LSMETER_ARCH_H

#if defined(__x86_64__)
#include "x86_64.h"
#elif defined(__aarch64__)
#include "arm64.h"
#else
#error "the probe does not know this architecture: add arch/NAME.h for it"
#endif

#endif
