// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A QEMU plugin that counts the instructions between two markers of a guest of arm64, and nothing
 * else: each by a call of its own. Writes the number of the region, and the count.
 */
#include "qemu_api.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NUMBER(insn) ((insn) >> 5 & 0xffff)

PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
				      char **argv);

static FILE *out;
static uint64_t count;
static uint32_t high, announced;

static void on_insn(unsigned int vcpu, void *data)
{
	(void)vcpu, (void)data;
	count++;
}

static void on_high(unsigned int vcpu, void *insn)
{
	(void)vcpu;
	high = NUMBER((uint32_t)(uintptr_t)insn);
}

static void on_low(unsigned int vcpu, void *insn)
{
	(void)vcpu;
	if (high == 0x4c53)
		announced = (announced << 4 | NUMBER((uint32_t)(uintptr_t)insn)) & 0xffff;
	else if (high == 0x4c51)
		count = 0;
	else if (high == 0x4c52)
		fprintf(out, "%" PRIu32 " %" PRIu64 "\n", announced, count);
	high = 0;
}

static void on_translate(struct qemu_plugin_tb *tb)
{
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint8_t bytes[MAX_INSN_BYTES] = {0};
		uint32_t word;
		exec_cb marker;

		insn_bytes(insn, bytes);
		memcpy(&word, bytes, sizeof(word));
		marker = (word & 0xffe0001f) == 0xd2a0001f   ? on_high
			 : (word & 0xffe0001f) == 0xf280001f ? on_low
							     : NULL;
		if (marker)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, marker, CB_NO_REGS,
							       (void *)(uintptr_t)word);
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_insn, CB_NO_REGS, NULL);
	}
}

static void on_end(void)
{
	fclose(out);
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4))
		return -1;
	out = fopen(argv[0] + 4, "w");
	if (!out)
		return -1;
	watch_start(id, on_translate, on_end);
	return 0;
}
