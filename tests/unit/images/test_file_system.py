# SPDX-License-Identifier: GPL-2.0-or-later
"""From an archive to an ext4 with owners, modes and labels, by the real programs, without root."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core import process
from lsmeter.core.errors import BuildError
from lsmeter.sources.images import ext4
from lsmeter.sources.images.ext4 import Node, clean_path, unpack

ODD = 'se cret "x" \\ y'
TIME_S = 1600000000


def write_archive(path: Path, *members: tuple[str, bytes, dict[str, object]]) -> Path:
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for name, kind, fields in members:
            member = tarfile.TarInfo(name)
            member.type = kind
            member.mtime = TIME_S
            data = fields.pop("data", b"")
            assert isinstance(data, bytes)
            member.size = len(data)
            for key, value in fields.items():
                setattr(member, key, value)
            archive.addfile(member, io.BytesIO(data))
    return path


def build(home: Path) -> tuple[Path, tuple[Node, ...], dict[str, str]]:
    archive = write_archive(
        home / "a.tar",
        ("./", tarfile.DIRTYPE, {"mode": 0o755}),
        ("./a", tarfile.DIRTYPE, {"mode": 0o500, "uid": 5, "gid": 6}),
        (f"./a/{ODD}", tarfile.REGTYPE, {"mode": 0, "uid": 7, "data": b"hi"}),
        ("./a/é#[*", tarfile.REGTYPE, {"mode": 0o4755, "data": b"ho"}),
        ("./hard", tarfile.LNKTYPE, {"linkname": "./a/é#[*"}),
        ("./link", tarfile.SYMTYPE, {"mode": 0o777, "linkname": "/etc/passwd"}),
        ("./dev", tarfile.DIRTYPE, {"mode": 0o755}),
        ("./dev/null", tarfile.CHRTYPE, {}),
    )
    tree = home / "tree"
    tree.mkdir()
    nodes = unpack(archive, tree)
    contexts = {node.path: f"system_u:object_r:t{i}_t:s0" for i, node in enumerate(nodes)}
    image = home / "image"
    ext4.make_ext4(tree, image, 64)
    ext4.settle(image, nodes, contexts, home / "scratch")
    return image, nodes, contexts


def test_the_image_has_what_the_archive_says(tmp_path: Path) -> None:
    image, nodes, contexts = build(tmp_path)
    assert [node.path for node in nodes] == ["/", "/a", f"/a/{ODD}", "/a/é#[*", "/link", "/dev"]
    for node in nodes:
        about = ext4.debugfs(image, f"stat {ext4.quoted(node.path)}\n")
        assert f"User: {node.uid:>5}   Group: {node.gid:>5}" in about
        assert f"Mode:  0{stat.S_IMODE(node.mode):o}" in about or node.mode == stat.S_IFREG
        assert f"mtime: 0x{TIME_S:08x}" in about
        assert f"ctime: 0x{TIME_S:08x}" in about
        labels = ext4.debugfs(image, f"ea_list {ext4.quoted(node.path)}\n")
        assert f"security.selinux ({len(contexts[node.path]) + 1})" in labels
        assert f'"{contexts[node.path]}\\000"' in labels
    assert "Links: 2" in ext4.debugfs(image, "stat /hard\n")
    process.output(["e2fsck", "-fn", str(image)])


def test_the_same_archive_gives_the_same_bytes(tmp_path: Path) -> None:
    homes = [tmp_path / name for name in ("one", "two")]
    for home in homes:
        home.mkdir()
    first = build(homes[0])[0].read_bytes()
    time.sleep(1.1)  # a time that found its way in would be another one
    assert build(homes[1])[0].read_bytes() == first


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/../x"])
def test_paths_that_leave_the_root_are_refused(tmp_path: Path, name: str) -> None:
    archive = write_archive(tmp_path / "a.tar", (name, tarfile.REGTYPE, {}))
    (tmp_path / "tree").mkdir()
    with pytest.raises(BuildError, match="leaves it"):
        unpack(archive, tmp_path / "tree")
    assert not (tmp_path / "x").exists()


def test_links_out_of_the_root_are_not_followed(tmp_path: Path) -> None:
    archive = write_archive(
        tmp_path / "a.tar",
        ("out", tarfile.SYMTYPE, {"linkname": str(tmp_path)}),
        ("out/x", tarfile.REGTYPE, {}),
    )
    (tmp_path / "tree").mkdir()
    with pytest.raises(BuildError, match="leaves it"):
        unpack(archive, tmp_path / "tree")
    assert not (tmp_path / "x").exists()


def test_a_cut_archive_is_an_error(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "a.tar", ("x", tarfile.REGTYPE, {"data": bytes(9000)}))
    archive.write_bytes(archive.read_bytes()[:5000])
    (tmp_path / "tree").mkdir()
    with pytest.raises(BuildError, match="damaged"):
        unpack(archive, tmp_path / "tree")


def test_device_nodes_outside_dev_are_refused(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "a.tar", ("srv/sda", tarfile.BLKTYPE, {}))
    (tmp_path / "tree").mkdir()
    with pytest.raises(BuildError, match="strange type: /srv/sda"):
        unpack(archive, tmp_path / "tree")


def test_a_failing_command_is_an_error_with_its_words(tmp_path: Path) -> None:
    image, _, _ = build(tmp_path)
    with pytest.raises(BuildError, match="/none: File not found"):
        ext4.debugfs(image, "set_inode_field /none uid 5\n", write=True)


@pytest.mark.parametrize("path", ["/a\nset_inode_field / uid 5", "/\x7f", "/\t"])
def test_paths_that_would_be_more_than_one_word_are_refused(path: str) -> None:
    with pytest.raises(BuildError, match="control character"):
        ext4.quoted(path)


@given(st.text(st.characters(min_codepoint=0x20, exclude_characters="\x7f"), min_size=1))
def test_quoting_can_be_undone(path: str) -> None:
    quoted = ext4.quoted(path)
    assert quoted[0] == quoted[-1] == '"'
    assert quoted[1:-1].replace('""', "").count('"') == 0
    assert quoted[1:-1].replace('""', '"') == path


def test_only_what_differs_on_disk_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def settled(builder: int) -> list[str]:
        monkeypatch.setattr(os, "geteuid", lambda: builder)
        monkeypatch.setattr(os, "getegid", lambda: builder)
        return list(ext4.settle_commands([node], {}, {}))

    node = Node("/x", stat.S_IFREG | 0o644, uid=1000, gid=1000, mtime_s=1)
    lines = settled(1000)
    assert [line for line in lines if "uid" in line or "gid" in line or "mode" in line] == []
    lines = settled(0)
    assert 'set_inode_field "/x" uid 1000' in lines
    assert 'set_inode_field "/x" gid 1000' in lines


@pytest.mark.parametrize(
    ("name", "path"), [("./", "/"), (".", "/"), ("./a/b", "/a/b"), ("/a//b/", "/a/b")]
)
def test_member_names_become_paths(name: str, path: str) -> None:
    assert clean_path(name) == path
