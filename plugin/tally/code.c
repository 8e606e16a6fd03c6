// SPDX-License-Identifier: GPL-2.0-or-later
#include "code.h"

#include "arch/arch.h"

const struct code *guest_code;

bool code_choose(void)
{
	static const struct code *const known[ARCHES] = {
		[ARCH_X86] = &code_x86,
		[ARCH_ARM64] = &code_arm64,
	};

	guest_code = known[guest_arch->number];
	return guest_code;
}
