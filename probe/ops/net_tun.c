// SPDX-License-Identifier: GPL-2.0-or-later
/* The suite `net`: TUN devices, which a process makes and serves. */
#include "ops/define.h"

#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>

#define SUITE  "net"
#define DEVICE "/dev/net/tun"

static struct ifreq device = {.ifr_name = "lsmeter1",
			      .ifr_flags = IFF_TUN | IFF_NO_PI | IFF_MULTI_QUEUE};
static struct ifreq attach = {.ifr_flags = IFF_ATTACH_QUEUE};
static struct ifreq detach = {.ifr_flags = IFF_DETACH_QUEUE};

enum tun { NEW, AGAIN };

/* A device that is there already outlives who opens it. */
static int tun_setup(struct bench *bench)
{
	int fd = sys_open(DEVICE, O_RDWR, 0);
	long error = fd;

	if (fd == -ENOENT || fd == -ENXIO)
		return -ENODEV;
	if (fd >= 0)
		error = sys4(SYS_ioctl, fd, TUNSETIFF, (long)&device, 0);
	if (!error && bench->variant->value == AGAIN)
		error = sys4(SYS_ioctl, fd, TUNSETPERSIST, 1, 0);
	if (fd >= 0)
		sys_close(fd);
	return (int)error;
}

static int tun_arm(struct bench *bench)
{
	snprintf(bench->path[0], sizeof(bench->path[0]), DEVICE);
	cycle_begin(bench);
	push(bench, (struct call){CALLS(AS_OPEN(bench->path[0], O_RDWR, 0)), .expect = EXPECT_FD});
	push(bench,
	     (struct call){.nr = SYS_ioctl, .arg = {0, TUNSETIFF, (long)&device}, .fd_from = 1});
	if (bench->variant->value == AGAIN) {
		push(bench, (struct call){.nr = SYS_ioctl,
					  .arg = {0, TUNSETQUEUE, (long)&detach},
					  .fd_from = 1});
		push(bench, (struct call){.nr = SYS_ioctl,
					  .arg = {0, TUNSETQUEUE, (long)&attach},
					  .fd_from = 1});
	}
	push(bench, CLOSE_OF(0));
	region_from(bench, 0);
	return 0;
}

static int tun_teardown(struct bench *bench)
{
	int fd = bench->variant->value == AGAIN ? sys_open(DEVICE, O_RDWR, 0) : -1;

	if (fd < 0)
		return 0;
	sys4(SYS_ioctl, fd, TUNSETIFF, (long)&device, 0);
	sys4(SYS_ioctl, fd, TUNSETPERSIST, 0, 0);
	return sys_close(fd);
}

VARIANTS(tun, VARIANT("device=new", "make a TUN device and let it go", NEW),
	 VARIANT("device=kept", "open a TUN device, detach and attach its queue, close", AGAIN));
DEFINE_OP(tun, "tun", .settles = true, .setup = tun_setup, .run = run_in_row,
	  .teardown = tun_teardown, .components = 3, .privileged = true, .guest_only = true,
	  .needs = "TUN");
