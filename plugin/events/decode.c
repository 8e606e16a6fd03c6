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
	static struct decoded (*const decoders[ARCHES])(const uint8_t *, size_t) = {
		[ARCH_X86] = decode_x86,
		[ARCH_ARM64] = decode_arm64,
	};
	struct decoded found = decoders[guest_arch->number](bytes, size);

	found.kinds |= flows[found.flow];
	return found;
}
