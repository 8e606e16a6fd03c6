# SPDX-License-Identifier: GPL-2.0-or-later
"""Unpacks what kernels and modules are packed with, in pieces and up to a size limit.

The formats are told by their first bytes, as the kernel's own lib/decompress.c does.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import BinaryIO

import lz4.block
import zstandard

_PIECE_BYTES = 1 << 20
# Linux packs itself with `zstd -22 --ultra`, whose window is 128 MiB; more would only be an
# attack on this host's memory.
_ZSTD_WINDOW_BYTES = 1 << 27
# The legacy LZ4 frame, which the kernel uses, has blocks of 8 MiB before packing.
_LZ4_BLOCK_BYTES = 8 << 20
# One step's output cannot be limited: 128 KiB may come of 4 bytes, so steps are small (16 MiB).
_ZSTD_STEP_BYTES = 512
_ERRORS = (zlib.error, lzma.LZMAError, zstandard.ZstdError, lz4.block.LZ4BlockError, EOFError)


MAGIC = {
    "gzip": b"\x1f\x8b",
    "xz": b"\xfd7zXZ\x00",
    "lzma": b"\x5d\x00\x00",
    "bzip2": b"BZh",
    "zstd": b"\x28\xb5\x2f\xfd",
    "lz4": b"\x02\x21\x4c\x18",
    "lzo": b"\x89LZO",
}


class DamagedError(ValueError):
    """The packed bytes are truncated or damaged, too large, or of a kind that is not read."""


def packing_of(head: bytes) -> str:
    """Return how bytes that begin with `head` (6 or more) are packed, "" when they are not."""
    return next((packing for packing, magic in MAGIC.items() if head.startswith(magic)), "")


def unpack(packing: str, source: BinaryIO, sink: BinaryIO, *, limit_bytes: int) -> int:
    """Unpack `source` into `sink`; return the bytes. Memory is bounded by the format's window."""
    if packing not in _PIECES:
        raise DamagedError(f"packed with {packing}, which lsmeter cannot unpack")
    written = 0
    try:
        for piece in _PIECES[packing](source):
            written += len(piece)
            if written > limit_bytes:
                raise DamagedError(f"unpacks to more than {limit_bytes >> 20} MiB")
            sink.write(piece)
    except (*_ERRORS, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's fault; bz2 and gzip raise it without a number
        raise DamagedError(f"damaged {packing} data: {error}") from error
    return written


def _read(module: ModuleType) -> Callable[[BinaryIO], Iterator[bytes]]:
    def pieces(source: BinaryIO) -> Iterator[bytes]:
        with module.open(source) as file:
            yield from iter(lambda: file.read(_PIECE_BYTES), b"")

    return pieces


def _zstd(source: BinaryIO) -> Iterator[bytes]:
    unpacker = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES).decompressobj()
    while not unpacker.eof:
        data = source.read(_ZSTD_STEP_BYTES)
        if not data:
            raise DamagedError("packed data ends too early")
        yield unpacker.decompress(data)


def _lz4_legacy(source: BinaryIO) -> Iterator[bytes]:
    source.read(4)  # magic
    most = _LZ4_BLOCK_BYTES + _LZ4_BLOCK_BYTES // 255 + 16
    while head := source.read(4):
        size = int.from_bytes(head, "little")
        if len(head) < 4 or not 0 < size <= most:
            raise DamagedError("damaged lz4 data: a block of impossible size")
        packed = source.read(size)
        if len(packed) < size:
            raise DamagedError("packed data ends too early")
        yield lz4.block.decompress(packed, uncompressed_size=_LZ4_BLOCK_BYTES)


_PIECES: dict[str, Callable[[BinaryIO], Iterator[bytes]]] = {
    "gzip": _read(gzip),
    "xz": _read(lzma),
    "lzma": _read(lzma),
    "bzip2": _read(bz2),
    "zstd": _zstd,
    "lz4": _lz4_legacy,
}
