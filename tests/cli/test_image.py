# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter image` as a person or a script uses it, without building anything large."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lsmeter.sources.images import ext4
from tests.conftest import Lsmeter


@pytest.fixture
def cache(lsmeter: Lsmeter) -> dict[str, str]:
    return {"LSMETER_CACHE": str(lsmeter.home / "cache")}


@pytest.fixture
def root(lsmeter: Lsmeter) -> Path:
    (lsmeter.home / "tree").mkdir()
    (lsmeter.home / "tree" / "file").write_text("x")
    ext4.make_ext4(lsmeter.home / "tree", lsmeter.home / "root.ext4", 64)
    return lsmeter.home / "root.ext4"


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("build", "polcy"), "unknown image 'polcy'; did you mean policy?"),
        (("build", "./none.toml"), "none.toml: cannot read it: No such file"),
        (("path", "polcy"), "did you mean policy?"),
        (("path",), "has not been built"),
        (("remove", "policy"), "there is no image to remove"),
        (("add", "none.ext4"), "no such file or directory"),
        (("add", "words.txt"), "it is no ext4 file system"),
        (("add", "root.ext4", "--name", "policy"), "is the name of an image of lsmeter's own"),
        (("add", "root.ext4", "--name", "../x"), "cannot name an image"),
        (("list", "--format", "xml"), "xml"),
    ],
)
@pytest.mark.usefixtures("root")
def test_wrong_words_exit_with_2(
    lsmeter: Lsmeter, cache: dict[str, str], words: tuple[str, ...], part: str
) -> None:
    (lsmeter.home / "words.txt").write_text("words")
    done = lsmeter("image", *words, **cache)
    assert done.code == 2, done.err
    assert part in " ".join(done.err.split()), done.err
    assert done.out == ""


@pytest.mark.usefixtures("root")
def test_an_image_of_ones_own_comes_and_goes(lsmeter: Lsmeter, cache: dict[str, str]) -> None:
    added = lsmeter("image", "add", "root.ext4", "--name", "mine", **cache)
    assert added.code == 0, added.err
    path = added.out.strip()
    assert Path(path).is_file()
    assert lsmeter("image", "path", "mine", **cache).out.strip() == path
    (listed,) = json.loads(lsmeter("image", "list", "--format", "json", **cache).out)["images"]
    assert (listed["name"], listed["path"]) == ("mine", path)
    table = lsmeter("image", "list", **cache).out
    assert "mine" in table
    assert "(not built)" in table
    assert lsmeter("image", "remove", "mine", **cache).code == 0
    assert not Path(path).exists()
    left = json.loads(lsmeter("image", "list", "--format", "json", **cache).out)
    assert left["images"] == []


@pytest.mark.parametrize("command", ["build", "add", "list", "path", "remove"])
def test_every_command_explains_itself(lsmeter: Lsmeter, command: str) -> None:
    done = lsmeter("image", command, "--help")
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80


def test_a_missing_program_is_named_with_its_package(
    lsmeter: Lsmeter, cache: dict[str, str]
) -> None:
    empty = lsmeter.home / "bin"
    empty.mkdir()
    done = lsmeter("image", "build", PATH=str(empty), **cache)
    assert done.code == 7
    assert "mmdebstrap not found" in done.err
    assert "apt-get install mmdebstrap" in done.err
