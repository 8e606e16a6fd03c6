/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's first and only program.
 */
#ifndef LSMETER_INIT_INIT_H
#define LSMETER_INIT_INIT_H

/* Carry out /request, send the results, and power off. */
_Noreturn void init_main(void);

#endif
