// SPDX-License-Identifier: GPL-2.0-or-later
#include "init/disk.h"

#include "arch/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define IMAGE	"/fs.img"
#define OVERLAY "/overlay"

/*
 * An image with its zeros left out: this header, then for each extent its offset and size (64
 * bits each, little-endian) and its bytes. guest/filesystem.py writes it.
 */
struct header {
	char magic[8];
	uint64_t image_bytes;
	uint64_t extents;
};

struct extent {
	uint64_t offset;
	uint64_t size;
};

static const char magic[8] = "lsmext1\n";

/* A disk whose requests take guest time where there is one, else the RAM disk. */
static const char *device_path(void)
{
	return access("/dev/nullb0", F_OK) ? "/dev/ram0" : "/dev/nullb0";
}

static const char *write_extents(const char *data, size_t size, int device)
{
	struct header header;
	struct extent extent;
	size_t at = sizeof(header);

	errno = EINVAL;
	if (size < sizeof(header))
		return "reading the image";
	memcpy(&header, data, sizeof(header));
	if (memcmp(header.magic, magic, sizeof(magic)))
		return "reading the image";
	for (uint64_t i = 0; i < header.extents; i++) {
		errno = EINVAL;
		if (size - at < sizeof(extent))
			return "reading the image";
		memcpy(&extent, data + at, sizeof(extent));
		at += sizeof(extent);
		if (size - at < extent.size)
			return "reading the image";
		if (pwrite(device, data + at, extent.size, (off_t)extent.offset) !=
		    (ssize_t)extent.size)
			return "writing the disk";
		at += extent.size;
	}
	return NULL;
}

static const char *fill_device(void)
{
	int image = open(IMAGE, O_RDONLY | O_CLOEXEC);
	int device = open(device_path(), O_WRONLY | O_CLOEXEC);
	const char *failed = NULL;
	struct stat status;
	void *data;

	if (image < 0 || fstat(image, &status)) {
		failed = "opening the image";
	} else if (device < 0) {
		failed = "opening the disk (module brd or null_blk)";
	} else {
		data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, image, 0);
		if (data == MAP_FAILED) {
			failed = "mapping the image";
		} else {
			failed = write_extents(data, (size_t)status.st_size, device);
			munmap(data, (size_t)status.st_size);
		}
	}
	close(image);
	if (device >= 0 && close(device) && !failed)
		failed = "writing the disk";
	return failed;
}

bool disk_none(const char *filesystem)
{
	return !*filesystem || !strcmp(filesystem, "tmpfs") || !strcmp(filesystem, "overlay");
}

/* The upper directory is in memory, the lower one is empty: all files are in the upper one. */
static const char *mount_overlay(const char *where)
{
	static const char *const made[] = {OVERLAY, OVERLAY "/lower", OVERLAY "/upper",
					   OVERLAY "/work"};

	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		if (mkdir(made[i], 0755) && errno != EEXIST)
			return "making the directories of the overlay";
		if (!i && mount("tmpfs", OVERLAY, "tmpfs", 0, "mode=755"))
			return "mounting the tmpfs of the overlay";
	}
	return mount("overlay", where, "overlay", 0,
		     "lowerdir=" OVERLAY "/lower,upperdir=" OVERLAY "/upper,workdir=" OVERLAY
		     "/work")
		       ? "mounting the overlay"
		       : NULL;
}

const char *disk_fill(const char *filesystem)
{
	static bool done;
	const char *failed;

	if (done || disk_none(filesystem))
		return NULL;
	failed = fill_device();
	done = !failed;
	return failed;
}

const char *disk_mount(const char *filesystem, const char *where)
{
	const char *failed = NULL;

	if (!strcmp(filesystem, "tmpfs"))
		return mount("tmpfs", where, "tmpfs", 0, "mode=755") ? "mounting tmpfs" : NULL;
	if (!strcmp(filesystem, "overlay"))
		return mount_overlay(where);
	failed = disk_fill(filesystem);
	if (!failed && mount(device_path(), where, filesystem, 0, NULL))
		failed = "mounting the disk";
	return failed;
}

void disk_flush(const char *filesystem, const char *where)
{
	int fd;

	if (disk_none(filesystem))
		return;
	fd = sys_open(where, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return;
	if (!ioctl(fd, FIFREEZE, 0))
		ioctl(fd, FITHAW, 0);
	sys_close(fd);
}
