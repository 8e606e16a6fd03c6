/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts that show what packets carry, after a step of labels.h.
 */
#ifndef LSMETER_NET_LABELS_CHECK_H
#define LSMETER_NET_LABELS_CHECK_H

#include "protocol/request.h"

/*
 * After one of the steps: have a worker exchange data over both links. Facts `net.peer.LINK`
 * (the label of the other end, or none), `net.option.LINK` (the number of the IP option that a
 * datagram had, or none; 134 is CIPSO), and `net.secmark`, `net.ipsec`: whether packets were
 * counted.
 */
void labels_facts(const struct request *request, const char *work);

#endif
