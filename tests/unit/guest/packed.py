# SPDX-License-Identifier: GPL-2.0-or-later
"""Unpacks a file system image as the probe does (docs of lsmeter.guest.filesystem)."""

from __future__ import annotations

import struct

from lsmeter.guest.filesystem import MAGIC

_HEADER = struct.Struct("<8sQQ")
_EXTENT = struct.Struct("<QQ")


def unpack(packed: bytes) -> bytes:
    magic, size, count = _HEADER.unpack_from(packed)
    assert magic == MAGIC
    image = bytearray(size)
    at = _HEADER.size
    for _ in range(count):
        offset, length = _EXTENT.unpack_from(packed, at)
        at += _EXTENT.size
        assert offset + length <= size
        image[offset : offset + length] = packed[at : at + length]
        at += length
    assert at == len(packed)
    return bytes(image)
