/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What inits of test guests share: a line to the host, an end when something fails, files. */
#ifndef LSMETER_TEST_INIT_H
#define LSMETER_TEST_INIT_H

#include "../../probe/arch/arch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

static FILE *port; /* what is no console */

static void check(bool right, const char *what)
{
	if (right)
		return;
	fprintf(port, "failed: %s: %s\n", what, strerror(errno));
	fflush(port);
	reboot(RB_AUTOBOOT);
}

/* Open the line, and make /data with a file `kept`. */
static void prepare(void)
{
	struct termios raw;

	mkdir("/data", 0755);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	port = fopen(ARCH_RESULT_PORT, "we");
	if (!port || tcgetattr(fileno(port), &raw))
		reboot(RB_AUTOBOOT);
	cfmakeraw(&raw);
	tcsetattr(fileno(port), TCSANOW, &raw);
	check(!mount("none", "/data", "tmpfs", 0, NULL) && !chdir("/data"), "/data");
	check(!close(open("kept", O_CREAT | O_WRONLY | O_CLOEXEC, 0644)), "kept");
}

#endif
