// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/requirements.h"

#include <errno.h>
#include <unistd.h>

const char *unmet_requirement(const struct bench *bench, const struct request *request)
{
	if ((bench->op->guest_only || bench->variant->in_peer) && !in_guest)
		return "it would change this machine: only in a guest";
	if (bench->op->timed_only && !request->timed)
		return bench->op->timed_only;
	if (bench->op->privileged && geteuid() != 0)
		return "the ordinary user may not do that";
	if (bench->variant->in_peer && request->cold)
		return "the sockets of the peer network namespace are made once";
	if (bench->variant->populous && request->cold)
		return "so many directories are not made anew for each reading";
	return NULL;
}

bool is_unsupported(int error)
{
	return error == -ENOSYS || error == -EAFNOSUPPORT || error == -EPROTONOSUPPORT ||
	       error == -ESOCKTNOSUPPORT || error == -EOPNOTSUPP || error == -ENODEV;
}
