# SPDX-License-Identifier: GPL-2.0-or-later
"""Definitions of images: what they may say, and what their identity covers."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from lsmeter.base.errors import UsageError
from lsmeter.images.definition import (
    FilePart,
    ImageDefinition,
    check_table,
    definition_names,
    identity,
    load_definition,
)

PLAIN = ImageDefinition(
    name="mine", title="title", packages=("attr",), parts=(FilePart("/a", b"1"),)
)
PROGRAMS = {"mke2fs": "1.47.0"}


def replace(definition: ImageDefinition, **fields: object) -> ImageDefinition:
    return definition.model_copy(update=fields)


@pytest.mark.parametrize("name", definition_names())
def test_shipped_definitions_are_whole(name: str) -> None:
    definition = load_definition(name)
    paths = {part.path for part in definition.parts}
    assert not definition.prepare or definition.prepare in paths
    assert definition.packages == tuple(dict.fromkeys(definition.packages))


def test_there_is_a_shipped_definition() -> None:
    assert "policy" in definition_names()


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('title = "x"\npackages = []\nsuit = "sid"\n', "unknown key 'suit'; did you mean suite?"),
        ("packages = []\n", "title: "),
        ('title = "x"\npackages = ["--help"]\n', "packages.0: "),
        ('title = "x"\npackages = ["a,b"]\n', "packages.0: "),
        ('title = "x"\npackages = []\nsuite = "-x"\n', "suite: "),
        ('title = "x"\npackages = []\nfiles = "../.."\n', "files: "),
        ('title = "x"\npackages = []\nprepare = "rm -rf x"\n', "prepare: "),
        ('title = "x"\npackages = []\nsize_mib = 1\n', "size_mib: "),
        ('title = "x"\npackages = []\nname = "y"\n', "unknown key 'name'"),
        ('title = "x"\npackages = []\ntools = ["load_policy"]\n', "tools.0: "),
    ],
)
def test_wrong_definitions_name_the_key(text: str, part: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_table(tomllib.loads(text), "mine.toml", "")
    assert caught.value.title.startswith("mine.toml: ")
    assert part in caught.value.title


def test_a_definition_of_ones_own_brings_its_files(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('title = "x"\npackages = ["attr"]\nfiles = "mine"\n')
    (tmp_path / "mine" / "etc").mkdir(parents=True)
    (tmp_path / "mine" / "etc" / "b").write_bytes(b"2")
    (tmp_path / "mine" / "a").write_bytes(b"1")
    (tmp_path / "mine" / "a").chmod(0o755)
    definition = load_definition(str(tmp_path / "mine.toml"))
    assert definition.name == "mine"
    assert definition.parts == (FilePart("/a", b"1", executable=True), FilePart("/etc/b", b"2"))


def test_missing_files_and_links_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('title = "x"\npackages = []\nfiles = "mine"\n')
    with pytest.raises(UsageError, match="no such directory"):
        load_definition(str(path))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "link").symlink_to("/etc/shadow")
    with pytest.raises(UsageError, match="only plain files"):
        load_definition(str(path))


def test_unknown_names_are_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean policy"):
        load_definition("polcy")
    with pytest.raises(UsageError, match=r"none\.toml: cannot read it"):
        load_definition("./none.toml")


@pytest.mark.parametrize(
    "other",
    [
        replace(PLAIN, packages=("attr", "kmod")),
        replace(PLAIN, suite="trixie"),
        replace(PLAIN, size_mib=2048),
        replace(PLAIN, labels=True),
        replace(PLAIN, prepare="/a"),
        replace(PLAIN, parts=(FilePart("/a", b"2"),)),
        replace(PLAIN, parts=(FilePart("/b", b"1"),)),
        replace(PLAIN, parts=(FilePart("/a", b"1", executable=True),)),
        replace(PLAIN, parts=()),
    ],
)
def test_all_that_determines_an_image_is_in_its_identity(other: ImageDefinition) -> None:
    assert identity(PLAIN, PROGRAMS) != identity(other, PROGRAMS)


def test_the_identity_covers_programs_and_is_stable() -> None:
    assert identity(PLAIN, PROGRAMS) == identity(replace(PLAIN), dict(PROGRAMS))
    assert identity(PLAIN, PROGRAMS) != identity(PLAIN, {"mke2fs": "1.47.1"})


def test_files_cannot_be_shifted_into_one_another() -> None:
    first = replace(PLAIN, parts=(FilePart("/a", b"bc"),))
    second = replace(PLAIN, parts=(FilePart("/ab", b"c"),))
    assert identity(first, PROGRAMS) != identity(second, PROGRAMS)
