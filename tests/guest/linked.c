// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Init of one of two guests with a link between them: sends frames, and reports its own address
 * and that of whoever it received one from.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROTOCOL 0x88b5 /* for local experiments */
/* Guests do not share a clock: their counted time passes at once where they wait, so none does. */
#define TRIES 300000
#define AFTER 2000 /* more frames for the other guest, which may have missed the ones before */

static FILE *port;

static void finish(const char *failed)
{
	if (failed)
		fprintf(port, "failed %s %m\n", failed);
	fclose(port);
	reboot(RB_AUTOBOOT);
}

static void load_modules(void)
{
	char path[32];
	int number, fd;

	for (number = 0;; number++) {
		snprintf(path, sizeof(path), "/modules/%d.ko", number);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return;
		if (syscall(SYS_finit_module, fd, "", 0))
			finish(path);
		close(fd);
	}
}

static void report(const char *what, const unsigned char *mac)
{
	fprintf(port, "%s %02x:%02x:%02x:%02x:%02x:%02x\n", what, mac[0], mac[1], mac[2], mac[3],
		mac[4], mac[5]);
}

int main(void)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(PROTOCOL)};
	struct ifreq device = {.ifr_name = "eth0"};
	unsigned char sent[64] = {0}, received[64];
	int fd, try, left = TRIES;

	mount("none", "/dev", "devtmpfs", 0, "");
	port = fopen("/dev/ttyS1", "we");
	load_modules();
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(PROTOCOL));
	if (fd < 0 || ioctl(fd, SIOCGIFHWADDR, &device))
		finish("eth0");
	memset(sent, 0xff, 6);
	memcpy(sent + 6, device.ifr_hwaddr.sa_data, 6);
	sent[12] = PROTOCOL >> 8;
	sent[13] = PROTOCOL & 0xff;
	report("own", sent + 6);
	device.ifr_flags = IFF_UP | IFF_BROADCAST;
	if (ioctl(fd, SIOCSIFFLAGS, &device))
		finish("up");
	at.sll_ifindex = (int)if_nametoindex("eth0");
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)))
		finish("bind");
	for (try = 0; try < left; try++) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};

		if (write(fd, sent, sizeof(sent)) < 0)
			finish("send");
		if (poll(&wait, 1, 0) > 0 && read(fd, received, sizeof(received)) > 12 &&
		    left == TRIES) {
			report("received-from", received + 6);
			left = try + AFTER;
		}
	}
	finish(NULL);
}
