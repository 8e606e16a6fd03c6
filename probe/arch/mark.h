/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Announcing the number of a region, and whose work follows, by markers; also for the guests of
 * tests.
 */
#ifndef LSMETER_ARCH_MARK_H
#define LSMETER_ARCH_MARK_H

#include "arch.h"

#define NIBBLE(n) \
	case n: \
		asm volatile(ARCH_MARK_NIBBLE : : "i"(n)); \
		break

static inline void mark_nibble(unsigned int nibble)
{
	switch (nibble) {
		NIBBLE(0);
		NIBBLE(1);
		NIBBLE(2);
		NIBBLE(3);
		NIBBLE(4);
		NIBBLE(5);
		NIBBLE(6);
		NIBBLE(7);
		NIBBLE(8);
		NIBBLE(9);
		NIBBLE(10);
		NIBBLE(11);
		NIBBLE(12);
		NIBBLE(13);
		NIBBLE(14);
		NIBBLE(15);
	}
}

#undef NIBBLE

/* Four nibbles, highest first. */
static inline void mark_announce(unsigned int number)
{
	for (int shift = 12; shift >= 0; shift -= 4)
		mark_nibble(number >> shift & 15);
}

#define ACCOUNT(n) \
	case n: \
		asm volatile(ARCH_MARK_ACCOUNT : : "i"(n) : "memory"); \
		break

/* One of ACCOUNT_...; 0 leaves the account that this task has. */
static inline void mark_account(unsigned int account)
{
	switch (account) {
		ACCOUNT(ACCOUNT_SERVICE);
		ACCOUNT(ACCOUNT_CLIENT);
		ACCOUNT(ACCOUNT_DRIVER);
	}
}

#undef ACCOUNT

#endif
