# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads kernel images: a bzImage or an arm64 Image by its header, an ELF vmlinux by its notes.

What they are packed with is told by its first bytes, as the kernel's own lib/decompress.c does, and
unpacked in pieces and up to a size limit.

The boot protocols are Documentation/arch/x86/boot.rst and arm64/booting.rst of the kernel tree. A
bzImage's payload is unpacked to the ELF inside it, which QEMU starts through its PVH entry without
emulating the unpacking. Nothing here knows of packages or caches.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import mmap
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

import lz4.block
import zstandard

from lsmeter.core.archives import is_of_disk
from lsmeter.core.errors import UsageError
from lsmeter.core.model import BootProtocol
from lsmeter.core.model.arch import ARM64, X86_64, Arch
from lsmeter.core.storage import reading, writing

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
_MOST_BYTES = 4 << 30  # a vmlinux with all its debug information has less
# Far above any kernel (Debian's cloud kernels unpack to 40-60 MiB, allyesconfig to under 1 GiB).
_MOST_UNPACKED_BYTES = 1 << 30
_PVH_NOTE = "18"  # XEN_ELFNOTE_PHYS32_ENTRY, include/xen/interface/elfnote.h
_HEADER_BYTES = 0x268  # up to and with the last field of the setup header that is read
_ARM64_PAGES = ("", "4 KiB", "16 KiB", "64 KiB")  # by bits 1 and 2 of an Image's flags
_CONFIG, _CONFIG_END = b"IKCFG_ST\x1f\x8b", b"IKCFG_ED"
_MOST_CONFIG_BYTES = 1 << 20  # as it is packed
_RELEASE = re.compile(rb"Linux version (\d+\.\d+[0-9A-Za-z.+~_-]*) ")
_HINT = "give a bzImage or a vmlinux of x86-64, an Image of arm64, or a .deb of a kernel"


def elf_damage() -> tuple[type[Exception], ...]:
    """Return what pyelftools raises on a damaged file: it does not check all that it reads."""
    from elftools.common.exceptions import ELFError
    from elftools.construct import ConstructError

    # OSError: what is damaged may ask for a place that no file has.
    anything = (ValueError, LookupError, AttributeError, TypeError, AssertionError, OSError)
    return (ELFError, ConstructError, *anything, OverflowError, MemoryError, struct.error)


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
        if is_of_disk(error):
            raise
        raise DamagedError(f"damaged {packing} data: {error}") from error
    return written


def _pieces(module: ModuleType, source: BinaryIO) -> Iterator[bytes]:
    with module.open(source) as file:
        yield from iter(lambda: file.read(_PIECE_BYTES), b"")


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
    "gzip": partial(_pieces, gzip),
    "xz": partial(_pieces, lzma),
    "lzma": partial(_pieces, lzma),
    "bzip2": partial(_pieces, bz2),
    "zstd": _zstd,
    "lz4": _lz4_legacy,
}


@dataclass(frozen=True)
class Image:
    """A kernel image as a guest can boot it."""

    path: Path
    boot_protocol: BootProtocol
    release: str  # "" when the image does not tell
    arch: Arch = X86_64


def prepare(source: Path, elf: Path) -> Image:
    """Return the bootable image of `source`: an ELF, unpacked to `elf`, or the file."""
    head = check(source)
    if is_arm64(head):
        return _prepare_arm64(source, head)
    place = payload_place(head)
    if place is None:
        return prepare_elf(source)
    with reading(f"kernel {source}", _HINT), source.open("rb") as file:
        return _from_bzimage(source, file, place, elf)


def check(source: Path) -> bytes:
    """Return the beginning of a kernel image; UsageError when a file has that of none."""
    with reading(f"kernel {source}", _HINT), source.open("rb") as file:
        head, size = file.read(_HEADER_BYTES), file.seek(0, io.SEEK_END)
    if payload_place(head) is None and not head.startswith(b"\x7fELF") and not is_arm64(head):
        raise not_a_kernel(source, looks_like(head))
    if size > _MOST_BYTES:
        raise not_a_kernel(source, f"larger than {_MOST_BYTES >> 30} GiB")
    return head


def payload_place(head: bytes) -> tuple[int, int] | None:
    """Return offset and bytes of a bzImage's payload, zeros where untold; None if it is none."""
    if len(head) < _HEADER_BYTES or head[0x202:0x206] != b"HdrS":
        return None
    if struct.unpack_from("<H", head, 0x206)[0] < 0x0208:  # told since Linux 2.6.26
        return 0, 0
    setup_sectors = head[0x1F1] or 4  # 0 means 4
    offset, length = struct.unpack_from("<II", head, 0x248)
    return (setup_sectors + 1) * 512 + offset, length


def is_arm64(head: bytes) -> bool:
    """Say whether a file that begins so is an Image of arm64, which QEMU starts as it is."""
    return head[0x38:0x3C] == b"ARM\x64"


def _prepare_arm64(source: Path, head: bytes) -> Image:
    """Describe an Image of arm64; UsageError for one that guests cannot boot."""
    size_bytes, flags = struct.unpack_from("<QQ", head, 0x10)
    if size_bytes > _MOST_UNPACKED_BYTES:
        raise not_a_kernel(source, f"an arm64 Image that says it needs {size_bytes >> 20} MiB")
    pages = _ARM64_PAGES[flags >> 1 & 3]
    if pages not in {"", "4 KiB"}:
        raise not_a_kernel(source, f"an arm64 Image with pages of {pages}; guests have 4 KiB")
    release = _find_release(source)
    if not release:
        raise not_a_kernel(source, "a truncated or packed arm64 Image: it has no Linux banner")
    return Image(source, BootProtocol.IMAGE, release, ARM64)


def looks_like(head: bytes) -> str:
    """Say in a few words what a file beginning with `head` is, for an error."""
    packing = packing_of(head)
    known = (
        (not head, "an empty file"),
        (packing, f"{packing}-compressed data"),
        (head.startswith(b"MZ"), "an EFI program or a kernel of another machine"),
        (head.startswith(b"!<arch>"), "an archive (.deb or .a)"),
        (head.startswith(b"\xeb\x63\x90") or head[510:512] == b"\x55\xaa", "a boot sector or disk"),
        (head.isascii() and b"\0" not in head, "text"),
    )
    return next((text for is_so, text in known if is_so), "unknown data")


def not_a_kernel(path: Path, what: str) -> UsageError:
    """Build the error for a file that cannot be booted."""
    return UsageError(f"{path} is not a kernel that lsmeter can boot: {what}", hint=_HINT)


def embedded_config(path: Path) -> str:
    """Return the configuration that CONFIG_IKCONFIG puts into an ELF, "" when there is none."""
    with _mapped(path) as content:
        at = content.find(_CONFIG)
        end = content.find(_CONFIG_END, at, at + _MOST_CONFIG_BYTES) if at >= 0 else -1
        packed = bytes(content[at + len(_CONFIG_END) : end]) if end >= 0 else b""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
            return file.read(8 << 20).decode(errors="replace")
    except (OSError, EOFError, zlib.error):
        return ""


def has_pvh_entry(path: Path, named: Path | None = None) -> bool:
    """Say whether an ELF names a PVH entry; UsageError, which has `named`, for a damaged one."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.segments import NoteSegment

    named = named or path
    try:
        with path.open("rb") as file:
            elf = ELFFile(file)
            if elf["e_machine"] != X86_64.elf or elf["e_type"] != "ET_EXEC":
                what = f"an ELF file of type {elf['e_type']} for {elf['e_machine']}"
                raise not_a_kernel(named, what)
            size = path.stat().st_size
            for segment in elf.iter_segments():
                if segment["p_offset"] + segment["p_filesz"] > size:
                    raise not_a_kernel(named, "a truncated ELF file")
            return any(
                note["n_name"] == "Xen" and str(note["n_type"]) == _PVH_NOTE
                for segment in elf.iter_segments()
                if isinstance(segment, NoteSegment)
                for note in segment.iter_notes()
            )
    except elf_damage() as error:
        raise not_a_kernel(named, "a damaged or truncated ELF file") from error


def prepare_elf(path: Path) -> Image:
    """Describe a vmlinux, used where it is; UsageError when it is none with a PVH entry."""
    release = _find_release(path)
    if not has_pvh_entry(path):
        what = "an ELF file without a PVH entry"
        what += " (built without CONFIG_PVH)" if release else " or a Linux banner"
        raise not_a_kernel(path, what)
    return Image(path, BootProtocol.PVH, release)


def _from_bzimage(source: Path, file: BinaryIO, place: tuple[int, int], elf: Path) -> Image:
    release = _read_release(file)
    offset, length = place
    size = file.seek(0, io.SEEK_END)
    if offset + length > size:
        raise not_a_kernel(source, f"a truncated bzImage ({size} bytes)")
    if length > _MOST_UNPACKED_BYTES:
        raise not_a_kernel(source, f"a bzImage whose payload has {length >> 20} MiB")
    if length:
        file.seek(offset)
        try:
            with writing(elf):
                _unpack_payload(file.read(length), elf)
            if has_pvh_entry(elf, source):
                return Image(elf, BootProtocol.PVH, release or _find_release(elf))
        except DamagedError as error:
            elf.unlink(missing_ok=True)
            raise not_a_kernel(source, f"a bzImage, but {error}") from error
        elf.unlink(missing_ok=True)
    return Image(source, BootProtocol.BZIMAGE, release)


def _unpack_payload(payload: bytes, elf: Path) -> None:
    """Unpack a bzImage's payload to `elf`; the size that the payload ends in must agree."""
    packing = packing_of(payload[:16])
    if not packing:
        raise DamagedError("its payload is packed in no way that is known")
    told = int.from_bytes(payload[-4:], "little")
    # gzip's own last field is that size; behind all others the kernel's build appends it.
    body = payload if packing == "gzip" else payload[:-4]
    with elf.open("wb") as sink:
        size = unpack(packing, io.BytesIO(body), sink, limit_bytes=_MOST_UNPACKED_BYTES)
    if size != told:
        raise DamagedError(f"its payload is damaged: {size} bytes instead of {told}")


def _read_release(file: BinaryIO) -> str:
    file.seek(0x20E)
    pointer = int.from_bytes(file.read(2), "little")
    if not pointer:
        return ""
    file.seek(pointer + 0x200)
    words = file.read(256).split(b"\0")[0].split()
    text = words[0].decode("ascii", errors="replace") if words else ""
    return text if re.fullmatch(r"\d+\.[0-9A-Za-z.+~_-]+", text) else ""


def _find_release(path: Path) -> str:
    """Return the release in a kernel's banner, without reading the file into memory, or ""."""
    with _mapped(path) as content:
        found = _RELEASE.search(content)
        return found[1].decode() if found else ""


@contextmanager
def _mapped(path: Path) -> Iterator[mmap.mmap | bytes]:
    if not path.stat().st_size:
        yield b""
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        yield content
