# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.catalogue.setups import parse_setup
from lsmeter.catalogue.workloads import load_workload
from lsmeter.core.errors import InfrastructureError
from lsmeter.core.model import KernelModule, Task
from lsmeter.core.model.filesystems import FILESYSTEMS
from lsmeter.core.process import find
from lsmeter.guest.boot_image import make_request
from lsmeter.guest.filesystem import BLOCK_BYTES, disk_image, makers, pack, size_mib
from tests.unit.guest.packed import unpack
from tests.unit.model_builders import cell, kernel

EXT4 = cell(parse_setup("capability"), filesystem="ext4")


@given(
    st.lists(
        st.sampled_from([bytes(BLOCK_BYTES), b"a" * BLOCK_BYTES, b"\0b" * (BLOCK_BYTES // 2)]),
        max_size=12,
    )
)
def test_round_trip(blocks: list[bytes]) -> None:
    image = b"".join(blocks)
    packed = pack(image)
    assert unpack(packed) == image
    assert len(packed) <= 24 + sum(16 + len(b) for b in blocks if b.strip(b"\0"))


def test_ext4_is_real_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path))
    first = disk_image(EXT4)
    assert unpack(first)[0x438:0x43A] == b"\x53\xef"  # the superblock's magic number
    (kept,) = (tmp_path / "filesystems").iterdir()
    whole = kept.read_bytes()
    for damaged in (b"damaged", whole[:-9], whole[:500] + bytes((whole[500] ^ 1,)) + whole[501:]):
        kept.write_bytes(damaged)
        assert disk_image(EXT4) == first
        assert kept.read_bytes() == whole


# The magic number of each: where it stands in the image, and its bytes.
MAGIC = {
    "ext2": (0x438, b"\x53\xef"),
    "ext4": (0x438, b"\x53\xef"),
    "xfs": (0, b"XFSB"),
    "btrfs": (0x10040, b"_BHRfS_M"),
}


def test_every_file_system_on_a_disk_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path))
    assert {name for name, item in FILESYSTEMS.items() if item.on_disk} == set(MAGIC)
    for name, (at, magic) in MAGIC.items():
        if not find(FILESYSTEMS[name].make[0]):
            continue
        one = replace(EXT4, filesystem=name)
        image = unpack(disk_image(one))
        assert image[at : at + len(magic)] == magic
        assert len(image) == size_mib(one) << 20
    journal = [unpack(disk_image(replace(EXT4, filesystem=f)))[0x45C] & 4 for f in ("ext2", "ext4")]
    assert journal == [0, 4]


@pytest.mark.parametrize(
    ("filesystem", "loaded"),
    [
        ("tmpfs", {}),
        ("ext2", {"brd": 64, "ext4": 0}),
        ("ext4", {"brd": 64, "ext4": 0}),
        ("xfs", {"brd": 320, "crc": 0, "xfs": 0}),
        ("btrfs", {"brd": 320, "crc": 0, "xor": 0, "btrfs": 0}),
        ("overlay", {"overlay": 0}),
    ],
)
def test_a_guest_loads_what_its_file_system_needs(filesystem: str, loaded: dict[str, int]) -> None:
    needs = {"xfs": ("crc",), "btrfs": ("xor", "crc"), "xor": ("built-in",)}
    names = ("brd", "ext4", "crc", "xfs", "xor", "btrfs", "overlay", "virtio_blk")
    modules = tuple(KernelModule(name, Path(name), "", needs.get(name, ())) for name in names)
    one = replace(EXT4, filesystem=filesystem, kernel=replace(kernel(), modules=modules))
    asked = {
        f"/modules/{name}.ko": f"rd_nr=1 rd_size={mib << 10}" if mib else ""
        for name, mib in loaded.items()
    }
    assert dict(make_request(one, 1).modules) == asked


def test_services_have_more_room() -> None:
    task = Task("workload", workload=load_workload("web").workload)
    assert (size_mib(EXT4), size_mib(replace(EXT4, task=task))) == (64, 320)
    assert size_mib(replace(EXT4, filesystem="overlay", task=task)) == 0


def test_no_mke2fs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path))
    monkeypatch.setattr("lsmeter.core.process.find", lambda _: None)
    with pytest.raises(InfrastructureError) as caught:
        disk_image(EXT4)
    assert caught.value.hint == "install: apt-get install e2fsprogs"


def test_a_program_of_another_version_makes_another_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = makers([*FILESYSTEMS, "none such"])
    assert set(before) == {f"made by {name}" for name, item in FILESYSTEMS.items() if item.on_disk}
    newer = tmp_path / "mkfs.xfs"
    newer.write_text("#!/bin/sh\necho mkfs.xfs version 99\n")
    newer.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    after = makers(FILESYSTEMS)
    assert {name for name in before if before[name] != after[name]} == {"made by xfs"}
