/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which benchmarks are skipped, because they cannot be measured here or as they are asked for.
 */
#ifndef LSMETER_SAMPLER_REQUIREMENTS_H
#define LSMETER_SAMPLER_REQUIREMENTS_H

#include "ops/bench.h"
#include "protocol/request.h"

/* Why this benchmark cannot be measured as it is asked for; NULL if it can. */
const char *unmet_requirement(const struct bench *bench, const struct request *request);

/* Whether an error of setting up says that the kernel does not have what is to be measured. */
bool is_unsupported(int error);

#endif
