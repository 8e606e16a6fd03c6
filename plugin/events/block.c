// SPDX-License-Identifier: GPL-2.0-or-later
#include "block.h"

#include "kinds.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 65536

static struct event_block *build(const struct qemu_plugin_tb *tb)
{
	size_t count = qemu_plugin_tb_n_insns(tb);
	struct event_block *block = calloc(1, sizeof(*block) + count * sizeof(*block->insns));
	struct decoded last = {0};

	if (!block || !count) {
		free(block);
		return NULL;
	}
	block->vaddr = qemu_plugin_tb_vaddr(tb);
	block->count = (uint32_t)count;
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint8_t bytes[MAX_INSN_BYTES] = {0};
		size_t size = insn_bytes(insn, bytes);

		last = decode(bytes, size);
		block->insns[i] = (struct event_insn){
			.vaddr = qemu_plugin_insn_vaddr(insn),
			.kinds = last.kinds,
			.silent = last.silent,
			.loads = last.loads,
			.operands = last.operands,
		};
		block->kinds |= last.kinds;
		block->end = block->insns[i].vaddr + size;
	}
	block->flow = last.flow;
	block->target = block->end + (uint64_t)(int64_t)last.distance;
	return block;
}

static bool same(const struct event_block *one, const struct event_block *other)
{
	return one->vaddr == other->vaddr && one->end == other->end && one->flow == other->flow &&
	       one->target == other->target && one->count == other->count &&
	       !memcmp(one->insns, other->insns, one->count * sizeof(*one->insns));
}

const struct event_block *block_of(const struct qemu_plugin_tb *tb)
{
	static struct event_block *known[BUCKETS];
	struct event_block *block = build(tb), **bucket;

	if (!block)
		return NULL;
	/* QEMU translates the same code often; once is enough. */
	bucket = &known[(block->vaddr ^ block->vaddr >> 16) & (BUCKETS - 1)];
	for (struct event_block *item = *bucket; item; item = item->next) {
		if (same(item, block)) {
			free(block);
			return item;
		}
	}
	block->next = *bucket;
	return *bucket = block;
}

void block_count(const struct event_block *block, uint32_t first, uint32_t last, uint32_t *counts)
{
	uint32_t rest = block->kinds & ~(1u << EV_INSNS);

	counts[EV_INSNS] += last - first;
	for (uint32_t i = first; rest && i < last; i++) {
		for (uint32_t kinds = block->insns[i].kinds & rest; kinds; kinds &= kinds - 1)
			counts[__builtin_ctz(kinds)]++;
		counts[EV_LOADS] += block->insns[i].loads;
	}
}

uint64_t block_insn_end(const struct event_block *block, uint32_t index)
{
	return index + 1 < block->count ? block->insns[index + 1].vaddr : block->end;
}
