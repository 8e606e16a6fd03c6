/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes, so that nothing is in use for them that lies in a slab's first page (places.h). */
#ifndef LSMETER_CHILDREN_H
#define LSMETER_CHILDREN_H

/* Hold processes that are made of such objects; how many, or -errno. */
int children_hold(void);

#endif
