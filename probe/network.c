// SPDX-License-Identifier: GPL-2.0-or-later
#include "network.h"

#include "sys.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int network_up(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	long fd = sys4(SYS_socket, AF_INET, SOCK_DGRAM, 0, 0), error;

	if (fd < 0)
		return (int)fd;
	error = sys4(SYS_ioctl, fd, SIOCSIFFLAGS, (long)&request, 0);
	sys_close((int)fd);
	return (int)error;
}
