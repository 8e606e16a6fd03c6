// SPDX-License-Identifier: GPL-2.0-or-later
/* read(from, buffer, size) and write(to, buffer, size): both are in the measured region. */
#include "ops/buffers.h"

static const struct variant variants[] = {STUDY_BUFFERS("copy")};

DEFINE_FILE_OP("copy", .setup = copy_setup, .arm = copy_arm, .teardown = close_files);
