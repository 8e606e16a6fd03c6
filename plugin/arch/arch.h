/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What differs between the architectures of guests: their markers, and how control flows. */
#ifndef LSMETER_PLUGIN_ARCH_H
#define LSMETER_PLUGIN_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an instruction does to the stack of calls. */
enum step {
	STEP_NEXT,
	STEP_CALL,
	STEP_RETURN,
	STEP_EXCEPTION_RETURN,
	STEP_SYSCALL_RETURN,
	STEP_SYSCALL, /* where an entry into the kernel does not tell what led there */
	STEP_BREAK,
};

/* How much of a marker an instruction has. */
enum marker_part { MARKER_NONE, MARKER_WHOLE, MARKER_HIGH, MARKER_LOW };

/* By which parts of plugins that have a table of architectures find what is theirs. */
enum arch_number { ARCH_X86, ARCH_ARM64, ARCHES };

struct arch {
	enum arch_number number;
	const char *target; /* as QEMU calls it */
	bool links;	    /* calls keep where they return in a register: no memory shows it */
	enum step (*step)(const uint8_t *bytes, size_t size);
	/* *value: the marker, or the half of it. */
	enum marker_part (*marker)(const uint8_t *bytes, size_t size, uint32_t *value);
};

extern const struct arch arch_x86, arch_arm64;

/* That of the guest, once install() returned. */
extern const struct arch *guest_arch;

/* Take the architecture that QEMU calls so; false for one that is not known. */
bool arch_choose(const char *target);

#endif
