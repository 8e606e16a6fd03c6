# SPDX-License-Identifier: GPL-2.0-or-later
"""Images: every packing, and what is no kernel."""

from __future__ import annotations

import gzip
import io
import struct
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from lsmeter.core.errors import UsageError
from lsmeter.core.model import BootProtocol
from lsmeter.sources.kernels import vmlinux
from lsmeter.sources.kernels.vmlinux import DamagedError, unpack
from tests.unit.kernels.synthetic import ARM64, PACKERS, bzimage, elf, with_payload


def prepare(tmp_path: Path, content: bytes) -> vmlinux.Image:
    source = tmp_path / "vmlinuz"
    source.write_bytes(content)
    return vmlinux.prepare(source, tmp_path / "elf")


@pytest.mark.parametrize("packing", PACKERS)
def test_the_elf_inside_a_bzimage_is_booted(tmp_path: Path, packing: str) -> None:
    # Over 8 MiB: more than one block of LZ4, more than one step of the others.
    content = elf() + bytes(9 << 20) + b"the end"
    found = prepare(tmp_path, bzimage(content, packing, release="6.1.0-56-cloud-amd64"))
    assert found.boot_protocol is BootProtocol.PVH
    assert found.release == "6.1.0-56-cloud-amd64"
    assert found.path == tmp_path / "elf"
    assert found.path.read_bytes() == content


@pytest.mark.parametrize("packing", PACKERS)
def test_a_truncated_bzimage_is_named(tmp_path: Path, packing: str) -> None:
    whole = bzimage(elf() + bytes(range(256)) * 64, packing)
    with pytest.raises(UsageError, match=r"vmlinuz is not a kernel.*truncated bzImage \(\d+ bytes"):
        prepare(tmp_path, whole[:-60])


@pytest.mark.parametrize("packing", PACKERS)
def test_a_damaged_payload_is_named_and_leaves_nothing(tmp_path: Path, packing: str) -> None:
    damaged = bytearray(bzimage(elf() + bytes(range(256)) * 64, packing))
    for place in range(-160, -60):
        damaged[place] ^= 0x5A
    with pytest.raises(UsageError, match="vmlinuz is not a kernel"):
        prepare(tmp_path, bytes(damaged))
    assert not (tmp_path / "elf").exists()


def test_a_payload_of_another_size_than_told_is_damaged(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="bytes instead of 7"):
        prepare(tmp_path, bzimage(elf(), "lz4", size=7))


def test_lzo_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="packed with lzo, which lsmeter cannot unpack"):
        prepare(tmp_path, with_payload(b"\x89LZO\0\r\n\x1a\n" + bytes(64)))


def test_without_a_pvh_entry_the_bzimage_is_booted_as_it_is(tmp_path: Path) -> None:
    found = prepare(tmp_path, bzimage(elf(pvh=False)))
    assert (found.boot_protocol, found.path) == (BootProtocol.BZIMAGE, tmp_path / "vmlinuz")
    assert found.release == "6.1.0-test"
    assert not (tmp_path / "elf").exists()


def test_an_old_boot_protocol_is_booted_as_it_is(tmp_path: Path) -> None:
    found = prepare(tmp_path, with_payload(b"", version=0x0207))
    assert found.boot_protocol is BootProtocol.BZIMAGE


def test_a_vmlinux_is_used_where_it_is(tmp_path: Path) -> None:
    found = prepare(tmp_path, elf())
    assert (found.boot_protocol, found.path) == (BootProtocol.PVH, tmp_path / "vmlinuz")
    assert found.release == "6.1.0-test"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "an empty file"),
        (b"hello, world\n", "text"),
        (gzip.compress(b"x" * 1000), "gzip-compressed data"),
        (b"MZ" + bytes(1000), "an EFI program or a kernel of another machine"),
        (b"!<arch>\n" + bytes(1000), "an archive"),
        (b"\x7fELF", "a damaged or truncated ELF"),
        (elf()[:130], "a truncated ELF"),
        (elf(machine=ARM64), "an ELF file of type ET_EXEC for EM_AARCH64"),
        (elf(pvh=False), "without a PVH entry .built without CONFIG_PVH."),
        (elf(pvh=False, extra=b"?"), "without a PVH entry or a Linux banner"),
        (bytes(4096), "unknown data"),
    ],
    # Named by what is expected: a name with packed bytes would differ between processes.
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_kernel_is_told(tmp_path: Path, content: bytes, what: str) -> None:
    with pytest.raises(UsageError, match=rf"vmlinuz is not a kernel that .*{what}") as caught:
        prepare(tmp_path, content)
    assert caught.value.hint


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_no_damage_is_more_than_a_usage_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(data.draw(st.sampled_from([elf(), bzimage(elf(), "lz4"), bzimage(elf())])))
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=6)):
        content[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)))
    try:
        found = prepare(tmp_path_factory.mktemp("image"), bytes(content[:cut]))
    except UsageError:
        return
    assert found.path.is_file()


@given(content=st.binary(max_size=4096), packing=st.sampled_from(sorted(PACKERS)))
@settings(deadline=None)
def test_unpacking_gives_back_what_was_packed(content: bytes, packing: str) -> None:
    sink = io.BytesIO()
    source = io.BytesIO(PACKERS[packing](content))
    assert unpack(packing, source, sink, limit_bytes=4096) == len(content)
    assert sink.getvalue() == content


@pytest.mark.parametrize("packing", PACKERS)
def test_unpacking_stops_at_the_limit(packing: str) -> None:
    source = io.BytesIO(PACKERS[packing](bytes(16 << 20)))
    sink = io.BytesIO()
    with pytest.raises(DamagedError, match="unpacks to more than 1 MiB"):
        unpack(packing, source, sink, limit_bytes=1 << 20)
    assert len(sink.getvalue()) <= 1 << 20


def test_a_zstd_window_beyond_what_linux_uses_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(1, window_log=28)
    packed = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    source = io.BytesIO(packed.compress(b"x" * 1000) + packed.flush())
    with pytest.raises(DamagedError, match="damaged zstd data"):
        unpack("zstd", source, io.BytesIO(), limit_bytes=1 << 20)


def test_an_embedded_configuration_is_found(tmp_path: Path) -> None:
    path = tmp_path / "vmlinux"
    packed = gzip.compress(b"CONFIG_HZ=100\n")
    path.write_bytes(elf() + b"IKCFG_ST" + packed + b"IKCFG_ED")
    assert vmlinux.embedded_config(path) == "CONFIG_HZ=100\n"
    path.write_bytes(elf() + b"IKCFG_ST" + packed[:-9] + bytes(9) + b"IKCFG_ED")
    assert vmlinux.embedded_config(path) == ""


def test_header_fields_are_bytes_of_the_file() -> None:
    payload = gzip.compress(elf())
    place = vmlinux.payload_place(with_payload(payload)[:0x268])
    assert place == (3 * 512 + 64, len(payload))
    assert struct.unpack("<I", payload[-4:])[0] == len(elf())
