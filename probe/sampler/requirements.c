// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/requirements.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

const char *unsuited(const struct bench *bench, const struct request *request)
{
	if ((bench->op->guest_only || bench->variant->far) && !in_guest)
		return "it would change this machine: only in a guest";
	if (bench->op->timed_only && !request->timed)
		return bench->op->timed_only;
	if (bench->op->privileged && geteuid() != 0)
		return "the ordinary user may not do that";
	if (bench->variant->far && request->cold)
		return "the sockets of the far network namespace are made once";
	if (bench->variant->populous && (request->cold || strcmp(request->filesystem, "tmpfs")))
		return "so many directories are made on a warm tmpfs only: elsewhere they take "
		       "longer than the rest of the suite";
	return NULL;
}

bool is_lacking(int error)
{
	return error == -ENOSYS || error == -EAFNOSUPPORT || error == -EPROTONOSUPPORT ||
	       error == -ESOCKTNOSUPPORT || error == -EOPNOTSUPP || error == -ENODEV;
}
