# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.base.errors import InfrastructureError, UsageError
from lsmeter.guest.filesystem import BLOCK_BYTES, image_for, pack, unpack


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


@given(st.integers(0, 60))
def test_a_cut_image_is_noticed(kept: int) -> None:
    with pytest.raises(ValueError, match="image"):
        unpack(pack(b"a" * BLOCK_BYTES)[:kept])


def test_an_extent_outside_is_noticed() -> None:
    packed = bytearray(pack(bytes(BLOCK_BYTES) + b"a" * BLOCK_BYTES))
    packed[24 + 7] = 0x7F
    with pytest.raises(ValueError, match="outside"):
        unpack(bytes(packed))


def test_ext4_is_real_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path))
    first = image_for("ext4")
    assert unpack(first)[0x438:0x43A] == b"\x53\xef"  # the superblock's magic number
    (kept,) = (tmp_path / "filesystems").iterdir()
    assert kept.read_bytes() == first
    kept.write_bytes(b"damaged")
    assert image_for("ext4") == first


def test_no_mke2fs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path))
    monkeypatch.setattr("lsmeter.base.process.find", lambda _: None)
    with pytest.raises(InfrastructureError) as caught:
        image_for("ext4")
    assert caught.value.hint == "install: apt-get install e2fsprogs"


def test_unknown() -> None:
    with pytest.raises(UsageError):
        image_for("tmpfs")
