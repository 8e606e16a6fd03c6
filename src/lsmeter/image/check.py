# SPDX-License-Identifier: GPL-2.0-or-later
"""Looks into a file system without mounting it: what it has of what a setup needs."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

from lsmeter.errors import UsageError
from lsmeter.image import ext4, programs

# The superblock, by the kernel's Documentation/filesystems/ext4/super.rst.
_SUPER_AT = 1024
_MAGIC_AT, _MAGIC = 56, 0xEF53
_COMPAT_AT, _EXT_ATTR, _JOURNAL = 92, 0x8, 0x4
_INCOMPAT_AT, _RECOVER = 96, 0x4
_SUPER_BYTES = 1024


def check_filesystem(path: Path) -> None:
    """Raise UsageError if `path` is no ext4 that a guest can use as its root."""
    try:
        with path.open("rb") as file:
            file.seek(_SUPER_AT)
            block = file.read(_SUPER_BYTES)
    except OSError as error:
        raise UsageError(f"image {path}: cannot read it: {error.strerror}") from error
    check_superblock(block, str(path))


def check_superblock(block: bytes, where: str) -> None:
    """Raise UsageError if an ext4 superblock cannot be one of an image; pure."""
    whole = len(block) == _SUPER_BYTES
    if not whole or struct.unpack_from("<H", block, _MAGIC_AT)[0] != _MAGIC:
        raise UsageError(
            f"image {where}: it is no ext4 file system",
            hint="one file system without a partition table: mke2fs -t ext4 -d DIR FILE 1G",
        )
    compat = struct.unpack_from("<I", block, _COMPAT_AT)[0]
    if not compat & _EXT_ATTR:
        raise UsageError(
            f"image {where}: its ext4 has no extended attributes, so labels would be lost",
            hint="make it with the feature ext_attr: tune2fs -O ext_attr FILE",
        )
    if struct.unpack_from("<I", block, _INCOMPAT_AT)[0] & _RECOVER:
        raise UsageError(
            f"image {where}: it was not unmounted cleanly", hint="repair it: e2fsck -f FILE"
        )


def missing_paths(image: Path, paths: Iterable[str]) -> tuple[str, ...]:
    """Return those of `paths` that `image` does not have."""
    asked = tuple(paths)
    if not asked:
        return ()
    commands = "".join(f"stat {ext4.quoted(path)}\n" for path in asked)
    words = ["debugfs", "-f", "-", str(image)]
    return parse_stats(programs.run(words, stdin=commands), asked)


def parse_stats(output: str, asked: tuple[str, ...]) -> tuple[str, ...]:
    """Read what debugfs says on a `stat` of each path; return those not found; pure."""
    gone = {
        line.split(": File not found")[0]
        for line in output.splitlines()
        if ": File not found" in line
    }
    return tuple(path for path in asked if path in gone)


def require_tools(image: Path, name: str, paths: Iterable[str]) -> None:
    """Raise UsageError that names what a setup needs and the image does not have.

    paths: absolute paths in the image, of tools and of policies.
    """
    missing = missing_paths(image, paths)
    if missing:
        shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if missing[5:] else "")
        raise UsageError(
            f"image {name} has no {shown}",
            hint="use lsmeter's own image (policy), or install what is missing in yours",
        )


def has_label(image: Path, path: str = "/") -> bool:
    """Say whether a file of the image has an SELinux context."""
    words = ["debugfs", "-R", f"ea_list {ext4.quoted(path)}", str(image)]
    return ext4.SELINUX in programs.run(words)
