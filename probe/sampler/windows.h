/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One window of cycles back to back, and what the guest does after it. */
#ifndef LSMETER_SAMPLER_WINDOWS_H
#define LSMETER_SAMPLER_WINDOWS_H

#include "sampler/whole.h"

/*
 * Make round->ops cycles, and see whole->ticks ticks after them; table has room
 * for the cycles. A window that a tick slipped past is taken again. False: it failed, whole says
 * why.
 */
bool window_take(struct bench *bench, struct bench *table, const struct request *request,
		 struct whole *whole, struct whole_round *round);

#endif
