# SPDX-License-Identifier: GPL-2.0-or-later
r"""Makes the file system that a guest works on, as an image with its zeros left out.

The image is the same, byte for byte, for the same version of mke2fs, and is kept in the cache,
packed with a checksum.
Its format, which the probe unpacks onto a RAM disk: the 8 bytes `lsmext1\n`, the size of the
whole image and the number of extents (64 bits each, little-endian), then for each extent its
offset and its size (the same) and its bytes.
"""

from __future__ import annotations

import hashlib
import struct
import tempfile
from itertools import groupby
from pathlib import Path

import zstandard

from lsmeter.base import process
from lsmeter.base.storage import cache_dir, write_atomic
from lsmeter.images import ext4

MAGIC = b"lsmext1\n"
IMAGE_BYTES = 64 << 20
BLOCK_BYTES = 4096
_HEADER = struct.Struct("<8sQQ")
_EXTENT = struct.Struct("<QQ")
_UUID = "6c736d65-7465-4000-8000-000000000001"


def ext4_image() -> bytes:
    """Return the image of an empty ext4, from the cache or made now.

    Raises InfrastructureError when the program that makes it is missing, BuildError when it fails.
    """
    process.need(["mke2fs"], "it makes the guest's ext4")
    version = process.output(["mke2fs", "-V"]).strip()
    content = f"{ext4.WITH_JOURNAL}{_UUID}{IMAGE_BYTES}{version}"
    name = hashlib.sha256(content.encode()).hexdigest()[:16]
    path = cache_dir() / "filesystems" / f"ext4-{name}.zst"
    try:
        return zstandard.decompress(path.read_bytes(), max_output_size=2 * IMAGE_BYTES)
    except (OSError, zstandard.ZstdError):
        with tempfile.TemporaryDirectory(prefix="lsmeter-ext4-") as folder:
            image = Path(folder) / "image"
            journal = "lazy_journal_init=0,"
            ext4.mke2fs(image, f"{IMAGE_BYTES >> 10}k", ext4.WITH_JOURNAL, _UUID, option=journal)
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
