/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * EMBED(name, file) puts a file into the program, as the constant `name`.
 */
#ifndef LSMETER_BPF_EMBEDDED_H
#define LSMETER_BPF_EMBEDDED_H

#include "loader.h"

/* Aligned as an ELF file wants to be. */
#define EMBED(symbol, file) \
	asm(".pushsection .rodata\n\t" \
	    ".balign 16\n" #symbol "_begin:\n\t" \
	    ".incbin \"" file "\"\n" #symbol "_end:\n\t" \
	    ".byte 0\n\t" \
	    ".popsection"); \
	extern const unsigned char symbol##_begin[], symbol##_end[]; \
	static const struct embedded symbol = { \
		.name = #symbol, .begin = symbol##_begin, .end = symbol##_end}

#endif
