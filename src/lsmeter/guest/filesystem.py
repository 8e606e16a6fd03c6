# SPDX-License-Identifier: GPL-2.0-or-later
r"""Makes the file system that a guest works on, as an image with its zeros left out.

An image is kept in the cache, packed with a checksum; of ext2 and ext4 it is the same, byte for
byte, for the same version of mke2fs.
Its format, which the probe unpacks onto a disk: the 8 bytes `lsmext1\n`, the size of the
whole image and the number of extents (64 bits each, little-endian), then for each extent its
offset and its size (the same) and its bytes.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Collection
from itertools import groupby

import zstandard

from lsmeter.core import process
from lsmeter.core.model import Cell
from lsmeter.core.model.filesystems import FILESYSTEMS, MADE_BY, UUID, FileSystem
from lsmeter.core.scratch import scratch
from lsmeter.core.storage import cache_dir, write_atomic
from lsmeter.guest.given import DISK, given
from lsmeter.sources.images import ext4

MAGIC = b"lsmext1\n"
# Services keep more than what operations work on; of 16,384 inodes ext4 of Linux 7.2 has none left
# once 9,437 directories were made twice, as it gives none again that was deleted of late.
_LARGE_MIB = 320
BLOCK_BYTES = 4096
_HEADER = struct.Struct("<8sQQ")
_EXTENT = struct.Struct("<QQ")


def size_mib(cell: Cell) -> int:
    """Return the size of the disk that guests of a cell work on; 0 where there is none."""
    filesystem = FILESYSTEMS[cell.filesystem]
    if not filesystem.on_disk:
        return 0
    large = cell.task.workload or cell.task.command or cell.populous
    return max(filesystem.least_mib, _LARGE_MIB if large else 0)


def makers(names: Collection[str]) -> dict[str, str]:
    """Return what decides the bytes of each of these file systems, as facts of a cell's identity.

    Those that need no disk have none, nor do those whose program is missing: no guest has them.
    """
    made = (FILESYSTEMS[name] for name in FILESYSTEMS if name in names)
    return {
        f"{MADE_BY}{item.name}": hashlib.sha256(_maker(item).encode()).hexdigest()[:16]
        for item in made
        if item.on_disk and process.find(item.make[0])
    }


def _maker(filesystem: FileSystem) -> str:
    version = process.output([filesystem.make[0], "-V"]).strip()
    return f"{ext4.WITH_JOURNAL}{filesystem.make}{version}"


def disk_image(cell: Cell) -> bytes:
    """Return the image of the empty file system of a cell, from the cache or made now.

    Raises InfrastructureError when the program that makes it is missing, BuildError when it fails.
    """
    if path := given(DISK):
        return path.read_bytes()
    filesystem, image_mib = FILESYSTEMS[cell.filesystem], size_mib(cell)
    program, *words = filesystem.make
    process.need([program], f"it makes the guest's {filesystem.name}")
    content = f"{_maker(filesystem)}{image_mib}"
    name = hashlib.sha256(content.encode()).hexdigest()[:16]
    path = cache_dir() / "filesystems" / f"{filesystem.name}-{name}.zst"
    try:
        return zstandard.decompress(path.read_bytes(), max_output_size=2 * (image_mib << 20))
    except (OSError, zstandard.ZstdError):
        with scratch(filesystem.name) as folder:
            image = folder / "image"
            if program == "mke2fs":
                journal = "lazy_journal_init=0,"
                size = f"{image_mib}M"
                ext4.mke2fs(image, size, ext4.WITH_JOURNAL, UUID, *words, option=journal)
            else:
                with image.open("wb") as file:
                    file.truncate(image_mib << 20)
                process.output([*filesystem.make, str(image)])
            data = pack(image.read_bytes())
    write_atomic(path, zstandard.ZstdCompressor(write_checksum=True).compress(data))
    return data


def pack(image: bytes) -> bytes:
    """Leave out the blocks of `image` that are all zero; its size must be whole blocks."""
    offsets = range(0, len(image), BLOCK_BYTES)
    zero = bytes(BLOCK_BYTES)
    parts = []
    for full, run in groupby(offsets, lambda at: image[at : at + BLOCK_BYTES] != zero):
        if full:
            first, *_, last = [*run] * 2
            data = image[first : last + BLOCK_BYTES]
            parts.append(_EXTENT.pack(first, len(data)) + data)
    return b"".join((_HEADER.pack(MAGIC, len(image), len(parts)), *parts))
