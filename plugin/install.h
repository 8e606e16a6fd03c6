/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every plugin begins and ends with: its arguments, its symbols, its output. */
#ifndef LSMETER_INSTALL_H
#define LSMETER_INSTALL_H

#include "arch/arch.h"
#include "qemu_api.h"
#include "symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* An argument of one plugin alone; value stays NULL where it is not given. */
struct argument {
	const char *key; /* with the sign of equality */
	const char *value;
};

/*
 * Take the arguments syms=FILE (symbols.h), out=FILE and `own`, check that the guest can be
 * watched, read the symbols, and begin the output with "lsmeter-NAME VERSION".
 * Returns the output; NULL once the reason has been printed.
 */
FILE *install(const char *name, int version, struct argument *own, size_t count,
	      const qemu_info_t *info, int argc, char **argv, struct symbols *symbols);

/* Print why the plugin called `name` does not start; returns what QEMU takes as a refusal. */
int refuse(const char *name, const char *reason, const char *detail);

/* End the output. */
void finish(const char *name, FILE *out);

/*
 * If an instruction is a marker (markers.h), or completes one, have it taken before it runs.
 * Returns whether it does, or holds a part of one.
 */
bool watch_marker(struct qemu_plugin_insn *insn, const uint8_t *bytes, size_t size,
		  void (*take)(uint32_t marker));

#endif
