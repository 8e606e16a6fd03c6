# SPDX-License-Identifier: GPL-2.0-or-later
"""Unpacks what kernels and modules are packed with, in pieces and up to a size limit.

The formats are told by their first bytes, as the kernel's own lib/decompress.c does.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import BinaryIO, Protocol

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


class Packing(StrEnum):
    """How bytes are packed."""

    GZIP = "gzip"
    XZ = "xz"
    LZMA = "lzma"
    BZIP2 = "bzip2"
    ZSTD = "zstd"
    LZ4 = "lz4"
    LZO = "lzo"


MAGIC: tuple[tuple[bytes, Packing], ...] = (
    (b"\x1f\x8b", Packing.GZIP),
    (b"\xfd7zXZ\x00", Packing.XZ),
    (b"\x5d\x00\x00", Packing.LZMA),
    (b"BZh", Packing.BZIP2),
    (b"\x28\xb5\x2f\xfd", Packing.ZSTD),
    (b"\x02\x21\x4c\x18", Packing.LZ4),
    (b"\x89LZO", Packing.LZO),
)


class DamagedError(ValueError):
    """The packed bytes are truncated or damaged, too large, or of a kind that is not read."""


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gzip:
    """zlib's object with the interface of bz2's and lzma's."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


def packing_of(head: bytes) -> Packing | None:
    """Return how bytes that begin with `head` (6 or more) are packed, None when they are not."""
    return next((packing for magic, packing in MAGIC if head.startswith(magic)), None)


def unpack(packing: Packing, source: BinaryIO, sink: BinaryIO, *, limit_bytes: int) -> int:
    """Unpack the one stream at `source`'s position into `sink`; return the bytes written.

    What follows the stream is left alone, but for LZ4, whose legacy frame has no end of its
    own and reaches to the end of `source`. Memory is bounded by the format's window. Raises
    DamagedError.
    """
    pieces = _PIECES.get(packing)
    if pieces is None:
        raise DamagedError(f"packed with {packing.value}, which lsmeter cannot unpack")
    written = 0
    try:
        for piece in pieces(source):
            written += len(piece)
            if written > limit_bytes:
                raise DamagedError(f"unpacks to more than {limit_bytes >> 20} MiB")
            sink.write(piece)
    except (zlib.error, lzma.LZMAError, zstandard.ZstdError, lz4.block.LZ4BlockError) as error:
        raise DamagedError(f"damaged {packing.value} data: {error}") from error
    except OSError as error:
        if error.errno is not None:  # the disk's fault; bz2 raises OSError without a number
            raise
        raise DamagedError(f"damaged {packing.value} data: {error}") from error
    return written


def _stepwise(make: Callable[[], _Unpacker], source: BinaryIO) -> Iterator[bytes]:
    unpacker = make()
    while not unpacker.eof:
        data = source.read(_PIECE_BYTES) if unpacker.needs_input else b""
        piece = unpacker.decompress(data, _PIECE_BYTES)
        if not piece and not data and not unpacker.eof:
            raise DamagedError("packed data ends too early")
        yield piece


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


_PIECES: dict[Packing, Callable[[BinaryIO], Iterator[bytes]]] = {
    Packing.GZIP: lambda source: _stepwise(_Gzip, source),
    Packing.XZ: lambda source: _stepwise(lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ), source),
    Packing.LZMA: lambda source: _stepwise(
        lambda: lzma.LZMADecompressor(lzma.FORMAT_ALONE), source
    ),
    Packing.BZIP2: lambda source: _stepwise(bz2.BZ2Decompressor, source),
    Packing.ZSTD: _zstd,
    Packing.LZ4: _lz4_legacy,
}
