// SPDX-License-Identifier: GPL-2.0-or-later
#include "init/root.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define IMAGE "/image"

/* Guest time in which a disk, whose driver may just have been loaded, has to appear. */
#define DISK_MS 2000

static const char *const moved[] = {"/dev", "/proc", "/sys"};

/* A virtual disk, or the image in memory. */
static const char *const devices[] = {"/dev/vda", "/dev/pmem0"};

static const char *wait_for_disk(const char **device)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	for (int waited_ms = 0; waited_ms < DISK_MS; waited_ms++) {
		for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
			*device = devices[i];
			if (!access(*device, R_OK | W_OK))
				return NULL;
		}
		nanosleep(&moment, NULL);
	}
	return "the guest has no disk (are the drivers virtio_blk or nd_pmem there?)";
}

/* A disk's name is there a moment before the disk can be opened. */
static bool mount_disk(const char *device, const char *filesystem)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	for (int waited_ms = 0; waited_ms < DISK_MS; waited_ms++) {
		if (!mount(device, IMAGE, filesystem, MS_NOATIME, NULL))
			return true;
		if (errno != ENXIO)
			return false;
		nanosleep(&moment, NULL);
	}
	return false;
}

/* What the setup brought along is in the initramfs, out of reach behind the new root. */
static const char *bring_files(void)
{
	if (access("/setup", F_OK))
		return NULL;
	if (mkdir(IMAGE "/setup", 0755) && errno != EEXIST)
		return "making /setup in the image";
	return mount("/setup", IMAGE "/setup", NULL, MS_BIND, NULL) ? "binding /setup" : NULL;
}

const char *root_enter(const char *filesystem)
{
	const char *device, *failed = wait_for_disk(&device);
	char path[32];

	if (failed)
		return failed;
	mkdir(IMAGE, 0755);
	if (!mount_disk(device, filesystem))
		return "mounting the image";
	failed = bring_files();
	if (failed)
		return failed;
	for (size_t i = 0; i < sizeof(moved) / sizeof(moved[0]); i++) {
		snprintf(path, sizeof(path), IMAGE "%s", moved[i]);
		if (mkdir(path, 0755) && errno != EEXIST)
			return "making a mount point in the image";
		if (mount(moved[i], path, NULL, MS_MOVE, NULL))
			return "moving a mounted file system into the image";
	}
	if (chdir(IMAGE) || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		return "making the image the root";
	return NULL;
}
