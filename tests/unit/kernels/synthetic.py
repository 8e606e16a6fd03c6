# SPDX-License-Identifier: GPL-2.0-or-later
"""Small kernels, modules, packages and an archive: real formats, made up here byte by byte."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import struct
import subprocess
from pathlib import Path

import lz4.block
import zstandard

from tests.conftest import DEADLINE_S

BANNER = b"Linux version 6.1.0-test (builder@example) (gcc 12) #1 SMP\n\0"
X86_64 = 62
ARM64 = 183


def elf(*, machine: int = X86_64, pvh: bool = True, extra: bytes = BANNER) -> bytes:
    """Make an ELF executable with one PT_NOTE segment: Xen's PVH entry, or another of its notes."""
    note = struct.pack("<III4sQ", 4, 8, 18 if pvh else 6, b"Xen\0", 0x1000000)
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0x1000000, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 4, 4, 120, 0, 0, len(note), len(note), 4)
    return header + segment + note + extra


def legacy_lz4(data: bytes) -> bytes:
    """LZ4's legacy frame, as `lz4 -l` writes it: blocks of 8 MiB with their packed size."""
    packed = b"\x02\x21\x4c\x18"
    for start in range(0, len(data), 8 << 20):
        block = lz4.block.compress(data[start : start + (8 << 20)], store_size=False)
        packed += struct.pack("<I", len(block)) + block
    return packed


PACKERS = {
    "gzip": gzip.compress,
    "xz": lambda data: lzma.compress(data, lzma.FORMAT_XZ, lzma.CHECK_CRC32),
    "lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
    "bzip2": bz2.compress,
    "zstd": zstandard.ZstdCompressor().compress,
    "lz4": legacy_lz4,
}


def bzimage(
    content: bytes, packing: str = "gzip", *, release: str = "6.1.0-test", size: int | None = None
) -> bytes:
    """Make a bzImage of protocol 2.15 whose payload unpacks to `content`."""
    payload = PACKERS[packing](content)
    if packing != "gzip":  # whose own trailer has the size
        payload += struct.pack("<I", len(content) if size is None else size)
    return with_payload(payload, release=release)


def with_payload(payload: bytes, *, release: str = "6.1.0-test", version: int = 0x020F) -> bytes:
    """Make a bzImage with three sectors of setup, and this payload 64 bytes behind them."""
    setup = bytearray(3 * 512)
    setup[0x1F1] = 2
    setup[0x1FE:0x202] = b"\x55\xaa\xeb\x66"
    setup[0x202:0x206] = b"HdrS"
    struct.pack_into("<HIHH", setup, 0x206, version, 0, 0, 0x200)
    struct.pack_into("<II", setup, 0x248, 64, len(payload))
    text = f"{release} (builder@example) #1 SMP".encode()
    setup[0x400 : 0x400 + len(text)] = text
    return bytes(setup) + bytes(64) + payload + bytes(32)


def module(name: str, depends: str = "", softdep: str = "") -> bytes:
    """Make a relocatable ELF with a .modinfo section, as a .ko has it."""
    info = f"name={name}\0depends={depends}\0" + (f"softdep={softdep}\0" if softdep else "")
    modinfo = info.encode()
    names = b"\0.modinfo\0.shstrtab\0"
    start = 64
    table = start + len(modinfo) + len(names)
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 1, X86_64, 1, 0, 0, table, 0, 64, 0, 0, 64, 3, 2)
    sections = bytes(64)
    sections += struct.pack("<IIQQQQIIQQ", 1, 1, 2, 0, start, len(modinfo), 0, 0, 1, 0)
    place = start + len(modinfo)
    sections += struct.pack("<IIQQQQIIQQ", 10, 3, 0, 0, place, len(names), 0, 0, 1, 0)
    return header + modinfo + names + sections


def write_tree(root: Path, release: str, *, image: bytes | None = None) -> Path:
    """Write a distribution's kernel under `root`: image, config, modules packed in three ways."""
    files = {
        f"boot/vmlinuz-{release}": bzimage(elf(), release=release) if image is None else image,
        f"boot/config-{release}": b'CONFIG_HZ=250\nCONFIG_LSM="yama,bpf"\n# CONFIG_X is not set\n',
        f"boot/System.map-{release}": b"ffffffffffffffff B The real one is elsewhere\n",
        f"lib/modules/{release}/modules.builtin": b"kernel/fs/ext4/ext4.ko\n",
        f"lib/modules/{release}/kernel/drivers/block/brd.ko": module("brd"),
        f"lib/modules/{release}/kernel/fs/xfs/xfs.ko.xz": lzma.compress(
            module("xfs", "libcrc32c", "pre: crc32c")
        ),
        f"lib/modules/{release}/kernel/lib/libcrc32c.ko.zst": zstandard.compress(
            module("libcrc32c")
        ),
        f"lib/modules/{release}/kernel/net/9p/9pnet.ko.gz": gzip.compress(module("9pnet")),
    }
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def deb(root: Path, into: Path, name: str, version: str, *, depends: str = "") -> Path:
    """Make a package of the files under `root` with dpkg-deb."""
    (root / "DEBIAN").mkdir(parents=True, exist_ok=True)
    control = f"Package: {name}\nVersion: {version}\nArchitecture: amd64\n"
    control += f"Depends: {depends}\n" if depends else ""
    control += "Maintainer: Nobody <nobody@example.org>\nDescription: test\n"
    (root / "DEBIAN/control").write_text(control)
    into.mkdir(parents=True, exist_ok=True)
    path = into / f"{name}_{version}_amd64.deb"
    command = ["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", str(root), str(path)]
    subprocess.run(command, check=True, capture_output=True, timeout=DEADLINE_S)
    return path


def publish(archive: Path, suite: str, debs: list[Path]) -> None:
    """Write the indexes of `suite` in the directory `archive`, which apt reads by file: URI."""
    stanzas = []
    for path in debs:
        command = ["dpkg-deb", "--field", str(path)]
        fields = subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=DEADLINE_S
        )
        content = path.read_bytes()
        stanzas.append(
            f"{fields.stdout.strip()}\nFilename: {path.relative_to(archive)}\n"
            f"Size: {len(content)}\nSHA256: {hashlib.sha256(content).hexdigest()}\n"
        )
    home = archive / "dists" / suite
    index = home / "main/binary-amd64/Packages"
    index.parent.mkdir(parents=True, exist_ok=True)
    index.write_text("\n".join(stanzas))
    digest = hashlib.sha256(index.read_bytes()).hexdigest()
    (home / "Release").write_text(
        f"Suite: {suite}\nCodename: {suite}\nArchitectures: amd64\nComponents: main\n"
        "Date: Thu, 01 Jan 2026 00:00:00 UTC\n"
        f"SHA256:\n {digest} {index.stat().st_size} main/binary-amd64/Packages\n"
    )
