/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Injected costs - the loop that burns instructions, for each architecture
 */

#ifndef _SECURITY_INJECT_BURN_H
#define _SECURITY_INJECT_BURN_H

#include <linux/compiler.h>
#include <linux/types.h>

/**
 * inject_burn - Run some instructions
 * @insns: how many
 *
 * Exact: @insns and a constant, whatever @insns is. A loop of two takes all
 * but the odd one.
 */
static __always_inline void inject_burn(u64 insns)
{
#if defined(CONFIG_X86_64)
	asm volatile("testb $1, %b[insns]\n\t"
		     "jz 1f\n\t"
		     "nop\n"
		     "1:\tshrq $1, %[insns]\n\t"
		     "jz 3f\n"
		     "2:\tdecq %[insns]\n\t"
		     "jnz 2b\n"
		     "3:"
		     : [insns] "+q" (insns)
		     :
		     : "cc");
#elif defined(CONFIG_ARM64)
	asm volatile("tbz %[insns], #0, 1f\n\t"
		     "nop\n"
		     "1:\tlsr %[insns], %[insns], #1\n\t"
		     "cbz %[insns], 3f\n"
		     "2:\tsub %[insns], %[insns], #1\n\t"
		     "cbnz %[insns], 2b\n"
		     "3:"
		     : [insns] "+r" (insns));
#else
#error "no loop for this architecture"
#endif
}

#endif /* _SECURITY_INJECT_BURN_H */
