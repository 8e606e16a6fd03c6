// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A QEMU plugin that writes every marker which the guest executes: one number a line.
 */
#include "markers.h"
#include "qemu_api.h"

#include <stdio.h>
#include <string.h>

PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
				      char **argv);

static FILE *out;

static void on_marker(unsigned int vcpu, void *data)
{
	(void)vcpu;
	fprintf(out, "%zx\n", (size_t)data);
}

static void on_translate(struct qemu_plugin_tb *tb)
{
	static const uint8_t nop[] = {MARKER_NOP_X86};

	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint8_t bytes[MAX_INSN_BYTES];
		uint32_t marker;

		if (insn_bytes(insn, bytes) != 8 || memcmp(bytes, nop, sizeof(nop)))
			continue;
		memcpy(&marker, bytes + sizeof(nop), sizeof(marker));
		if ((marker & MARKER_MASK) == MARKER_PREPARE)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_marker, CB_NO_REGS,
							       (void *)(size_t)marker);
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
	counter_init();
	watch_start(id, on_translate, on_end);
	return 0;
}
