# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.base.errors import InfrastructureError
from lsmeter.guest.filesystem import BLOCK_BYTES, ext4_image, pack
from tests.unit.guest.packed import unpack


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
    first = ext4_image()
    assert unpack(first)[0x438:0x43A] == b"\x53\xef"  # the superblock's magic number
    (kept,) = (tmp_path / "filesystems").iterdir()
    whole = kept.read_bytes()
    for damaged in (b"damaged", whole[:-9], whole[:500] + bytes((whole[500] ^ 1,)) + whole[501:]):
        kept.write_bytes(damaged)
        assert ext4_image() == first
        assert kept.read_bytes() == whole


def test_no_mke2fs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path))
    monkeypatch.setattr("lsmeter.base.process.find", lambda _: None)
    with pytest.raises(InfrastructureError) as caught:
        ext4_image()
    assert caught.value.hint == "install: apt-get install e2fsprogs"
