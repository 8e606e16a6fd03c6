// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch.h"

#include <string.h>

const struct arch *guest_arch;

bool arch_choose(const char *target)
{
	static const struct arch *const known[] = {&arch_x86, &arch_arm64};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(known[i]->target, target))
			guest_arch = known[i];
	return guest_arch;
}
