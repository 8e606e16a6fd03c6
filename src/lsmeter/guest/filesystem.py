# SPDX-License-Identifier: GPL-2.0-or-later
r"""Makes the file system that a guest works on, as an image with its zeros left out.

The image is the same, byte for byte, for the same version of mke2fs, and is kept in the cache.
Its format, which the probe unpacks onto a RAM disk: the 8 bytes `lsmext1\n`, the size of the
whole image and the number of extents (64 bits each, little-endian), then for each extent its
offset and its size (the same) and its bytes.
"""

from __future__ import annotations

import hashlib
import struct
import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from lsmeter.base import process
from lsmeter.base.errors import UsageError
from lsmeter.base.storage import cache_dir, locked, write_atomic
from lsmeter.images import ext4

MAGIC = b"lsmext1\n"
IMAGE_BYTES = 64 << 20
BLOCK_BYTES = 4096
_HEADER = struct.Struct("<8sQQ")
_EXTENT = struct.Struct("<QQ")
_UUID = "6c736d65-7465-4000-8000-000000000001"


def image_for(filesystem: str) -> bytes:
    """Return the image of `filesystem`, from the cache or made now.

    Raises InfrastructureError when the program that makes it is missing, BuildError when it fails,
    UsageError for a file system that needs no image or is not known.
    """
    if filesystem != "ext4":
        raise UsageError(f"there is no image for file system '{filesystem}'", hint="known: ext4")
    process.need(["mke2fs"], "it makes the guest's ext4")
    version = process.output(["mke2fs", "-V"]).strip()
    content = f"{ext4.WITH_JOURNAL}{_UUID}{IMAGE_BYTES}{version}"
    name = hashlib.sha256(content.encode()).hexdigest()[:16]
    path = cache_dir() / "filesystems" / f"{filesystem}-{name}.lsmext"
    with locked(f"filesystem-{filesystem}"):
        try:
            data = path.read_bytes()
            unpack(data)
        except (OSError, ValueError):
            data = pack(_make_ext4())
            write_atomic(path, data)
    return data


def pack(image: bytes) -> bytes:
    """Leave out the blocks of `image` that are all zero; its size must be whole blocks."""
    if len(image) % BLOCK_BYTES:
        raise ValueError(f"an image of {len(image)} bytes is not a number of blocks")
    parts = [_EXTENT.pack(offset, len(data)) + data for offset, data in _extents(image)]
    return b"".join((_HEADER.pack(MAGIC, len(image), len(parts)), *parts))


def unpack(packed: bytes) -> bytes:
    """Give back the whole image; ValueError if `packed` is not one."""
    try:
        magic, size, count = _HEADER.unpack_from(packed)
        if magic != MAGIC or size > IMAGE_BYTES:
            raise ValueError("not an image")
        image = bytearray(size)
        at = _HEADER.size
        for _ in range(count):
            offset, length = _EXTENT.unpack_from(packed, at)
            at += _EXTENT.size
            if length > len(packed) - at or length > size or offset > size - length:
                raise ValueError("an extent lies outside the image")
            image[offset : offset + length] = packed[at : at + length]
            at += length
    except struct.error:
        raise ValueError("the image is cut off") from None
    if at != len(packed):
        raise ValueError("bytes after the last extent of the image")
    return bytes(image)


def _extents(image: bytes) -> Iterator[tuple[int, bytes]]:
    """Give each longest run of blocks that are not all zero, with its offset."""
    zero = bytes(BLOCK_BYTES)
    offsets = range(0, len(image), BLOCK_BYTES)
    for full, run in groupby(offsets, lambda at: image[at : at + BLOCK_BYTES] != zero):
        if full:
            first, *_, last = [*run] * 2
            yield first, image[first : last + BLOCK_BYTES]


def _make_ext4() -> bytes:
    with tempfile.TemporaryDirectory(prefix="lsmeter-ext4-") as folder:
        image = Path(folder) / "image"
        journal = "lazy_journal_init=0,"
        ext4.mke2fs(image, f"{IMAGE_BYTES >> 10}k", ext4.WITH_JOURNAL, _UUID, option=journal)
        return image.read_bytes()
