// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode.h"

#include "arch/arch.h"
#include "kinds.h"

struct decoded decode(const uint8_t *bytes, size_t size)
{
	static const uint32_t flows[] = {
		[FLOW_NEXT] = 0,
		[FLOW_BRANCH] = 1u << EV_BRANCHES,
		[FLOW_CALL] = 1u << EV_DIRECT_CALLS,
		[FLOW_INDIRECT_CALL] = 1u << EV_INDIRECT_CALLS,
		[FLOW_INDIRECT_JUMP] = 1u << EV_INDIRECT_JUMPS,
		[FLOW_RETURN] = 1u << EV_RETURNS,
	};
	bool x86 = guest_arch == &arch_x86;
	struct decoded found = x86 ? decode_x86(bytes, size) : decode_arm64(bytes, size);

	found.kinds |= flows[found.flow];
	return found;
}
