// SPDX-License-Identifier: GPL-2.0-or-later
/* For kernels in which a file's path lies in a union: what is read there may not be followed. */
#define PATH_IN_UNION
#include "lomac.bpf.c"
