# SPDX-License-Identifier: GPL-2.0-or-later
"""Images of the user's own, and the store: whole ones only, wrong ones refused in one line."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.sources.images import build, definition, ext4


class Silent:
    """A Progress that shows nothing."""

    def update(self, task: str, done: float, total: float | None, *, unit: str = "") -> None:
        pass

    def finish(self, task: str) -> None:
        pass


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    (path / "sbin").mkdir(parents=True)
    (path / "sbin" / "load_policy").write_text("x")
    return path


def test_a_directory_becomes_an_image(tree: Path) -> None:
    image = build.add_image(tree, "mine")
    assert build.IMAGES.all() == (image,)
    assert stat.S_IMODE(image.file.stat().st_mode) == 0o444
    found = build.resolve_image("mine", Silent())
    assert (found.file, found.sha256) == (image.file, image.identity)
    assert ext4.missing_paths(image.file, ["/sbin/load_policy", "/x y"]) == ("/x y",)


def test_a_file_system_is_copied_and_replaces_the_one_before(tree: Path, tmp_path: Path) -> None:
    build.add_image(tree, "mine")
    ext4.make_ext4(tree, tmp_path / "root.ext4", 64)
    second = build.add_image(tmp_path / "root.ext4", "mine")
    assert build.IMAGES.all() == (second,)
    assert second.file.read_bytes() == (tmp_path / "root.ext4").read_bytes()
    assert build.built_image("mine") == second
    assert build.remove_images("mine") == (second,)
    assert build.IMAGES.all() == ()


def test_a_path_is_used_where_it_is(tree: Path, tmp_path: Path) -> None:
    ext4.make_ext4(tree, tmp_path / "root.ext4", 64)
    found = build.resolve_image(str(tmp_path / "root.ext4"), Silent())
    assert found.file == tmp_path / "root.ext4"
    with pytest.raises(UsageError, match=r"image root\.ext4 has no /sbin/x") as caught:
        ext4.require_tools(found.file, found.name, ["/sbin/load_policy", "/sbin/x"])
    assert "install what is missing" in caught.value.hint


@pytest.mark.parametrize(
    ("compat", "incompat", "magic", "part"),
    [
        (0x8, 0, 0x1234, "no ext4"),
        (0x0, 0, 0xEF53, "no extended attributes"),
        (0x8, 0x4, 0xEF53, "not unmounted cleanly"),
    ],
)
def test_unusable_file_systems_are_refused(
    tmp_path: Path, compat: int, incompat: int, magic: int, part: str
) -> None:
    block = bytearray(1024)
    block[56:58] = magic.to_bytes(2, "little")
    block[92:96] = compat.to_bytes(4, "little")
    block[96:100] = incompat.to_bytes(4, "little")
    (tmp_path / "x").write_bytes(bytes(1024) + block)
    with pytest.raises(UsageError, match=part):
        ext4.check_filesystem(tmp_path / "x")


def test_a_file_that_is_too_short_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.ext4").write_bytes(b"short")
    with pytest.raises(UsageError, match="no ext4"):
        build.add_image(tmp_path / "x.ext4", "mine")
    with pytest.raises(UsageError, match="no such file"):
        build.add_image(tmp_path / "none", "mine")
    with pytest.raises(UsageError, match="no such file"):
        build.resolve_image("./none.ext4", Silent())


@pytest.mark.parametrize("name", ["policy", "", "../x", "A b", "x" * 60])
def test_names_that_cannot_be_are_refused(tree: Path, name: str) -> None:
    with pytest.raises(UsageError, match="name"):
        build.add_image(tree, name)


def test_a_damaged_image_does_not_count(tree: Path) -> None:
    image = build.add_image(tree, "mine")
    image.file.chmod(0o644)
    with image.file.open("ab") as file:
        file.truncate(4096)
    assert build.IMAGES.all() == ()
    with pytest.raises(UsageError, match="unknown image 'mine'"):
        build.resolve_image("mine", Silent())


def test_a_flipped_bit_is_no_image(tree: Path) -> None:
    image = build.add_image(tree, "mine")
    image.file.chmod(0o644)
    with image.file.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5")
    with pytest.raises(InfrastructureError, match=r"image\.ext4 is damaged") as caught:
        build.resolve_image("mine", Silent())
    assert caught.value.hint == f"add it again: lsmeter image add {tree} --name mine"


def test_a_damaged_image_is_built_again_when_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text('title = "x"\npackages = []\n')
    key = definition.identity(definition.load_definition(str(path)), definition.versions())
    home = build.IMAGES.home / f"tiny-{key[:12]}"
    home.mkdir(parents=True)
    (home / build.FILE).write_bytes(b"whole")
    whole = replace(build.describe(home / build.FILE, "tiny", "x", 0.0), identity=key)
    build.IMAGES.write(home, whole)
    monkeypatch.setattr(build, "_build", lambda *_: replace(whole, title="made again"))
    assert build.build_image(str(path), Silent()) == whole
    whole.file.chmod(0o644)
    whole.file.write_bytes(b"wh0le")
    with pytest.raises(InfrastructureError, match="damaged") as caught:
        build.resolve_image(str(path), Silent())
    assert caught.value.hint == f"build it again: lsmeter image build {path}"
    assert build.build_image(str(path), Silent()).title == "made again"


def test_a_build_that_is_still_going_on_does_not_count(tree: Path, cache: Path) -> None:
    image = build.add_image(tree, "mine")
    image.home.rename(cache / "images" / f".{image.home.name}.partial")
    assert build.IMAGES.all() == ()
