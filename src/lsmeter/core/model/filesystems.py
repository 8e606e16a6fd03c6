# SPDX-License-Identifier: GPL-2.0-or-later
"""The file systems that guests work on: an entry says all that one needs; frozen, without I/O.

The probe (probe/init/disk.c) knows two by name, which need no disk: tmpfs, and overlay upon it. Any
other is mounted from a disk with the image that its program makes on this host: a RAM disk, or one
whose requests take guest time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

RAM_DISK, SLOW_DISK = "brd", "null_blk"  # kernel modules
DISK_OPTIONS = {RAM_DISK: "BLK_DEV_RAM", SLOW_DISK: "BLK_DEV_NULL_BLK"}
MADE_BY = "made by "  # and a name: the fact of an identity that is of this file system alone
UUID = "6c736d65-7465-4000-8000-000000000001"  # of every image: rules of IMA name it


@dataclass(frozen=True)
class FileSystem:
    """One file system, and what a guest of it needs of a kernel and of this host."""

    name: str  # as mount(2) has it
    title: str
    options: tuple[str, ...] = ()  # of the kernel: one of them has it
    modules: tuple[str, ...] = ()  # those of them that the kernel has
    make: tuple[str, ...] = ()  # the program that makes it, whose last word is the image
    least_mib: int = 64  # what the program makes at least
    magic: int = 0  # what statfs(2) says, where rules of IMA go by it

    @property
    def on_disk(self) -> bool:
        """Say whether it lies on a RAM disk."""
        return bool(self.make)


_ALL = (
    FileSystem("tmpfs", "in memory, no disk involved", magic=0x01021994),
    FileSystem(
        "ext2",
        "on a RAM disk, without a journal; Debian's kernels mount it with the driver of ext4",
        options=("EXT2_FS", "EXT4_USE_FOR_EXT2"),
        modules=("ext2", "ext4"),
        make=("mke2fs", "-t", "ext2"),
    ),
    FileSystem(
        "ext4",
        "on a RAM disk, mke2fs defaults",
        options=("EXT4_FS",),
        modules=("ext4",),
        make=("mke2fs", "-t", "ext4"),
    ),
    FileSystem(
        "xfs",
        "on a RAM disk, mkfs.xfs defaults",
        options=("XFS_FS",),
        modules=("xfs",),
        make=("mkfs.xfs", "-q", "-m", f"uuid={UUID}"),
        least_mib=320,
    ),
    FileSystem(
        "btrfs",
        "on a RAM disk, mkfs.btrfs defaults",
        options=("BTRFS_FS",),
        modules=("btrfs",),
        make=("mkfs.btrfs", "-q", "-U", UUID),
        least_mib=320,
    ),
    FileSystem(
        "overlay",
        "an empty lower directory, the upper one on tmpfs",
        options=("OVERLAY_FS",),
        modules=("overlay",),
        magic=0x794C7630,
    ),
)
FILESYSTEMS: Mapping[str, FileSystem] = {item.name: item for item in _ALL}
