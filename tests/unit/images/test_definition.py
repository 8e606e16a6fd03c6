# SPDX-License-Identifier: GPL-2.0-or-later
"""Definitions of images: what they may say, and what their identity covers."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from lsmeter.core.errors import UsageError
from lsmeter.core.toml_file import checked
from lsmeter.sources.images.definition import (
    FilePart,
    ImageDefinition,
    Table,
    definition_names,
    extended,
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
        checked(Table, tomllib.loads(text), where="mine.toml", hint="")
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


def test_an_image_that_extends_nothing_keeps_its_identity() -> None:
    known = "d0511a62eb83c0da3492665895eb38d24d4007dd22209eb9321e080900bd76c8"
    assert identity(PLAIN, PROGRAMS) == known
    assert identity(replace(PLAIN, extends="policy"), PROGRAMS) == known
    assert identity(replace(PLAIN, prepare_before=("/a",)), PROGRAMS) != known
    both = [replace(PLAIN, prepare_before=order) for order in (("/a", "/b"), ("/b", "/a"))]
    assert identity(both[0], PROGRAMS) != identity(both[1], PROGRAMS)


def test_what_extends_another_has_all_that_it_has(tmp_path: Path) -> None:
    for name, more in (("base", ""), ("middle", "base"), ("top", "middle")):
        (tmp_path / name / "usr").mkdir(parents=True)
        (tmp_path / name / "usr" / name).write_text(name)
        extends = f'extends = "./{more}.toml"\n'
        (tmp_path / f"{name}.toml").write_text(
            f'title = "{name}"\npackages = ["attr", "p-{name}"]\nkeep = ["/{name}"]\n'
            f'tools = ["/bin/{name}"]\nfiles = "{name}"\nprepare = "/usr/{name}"\n'
            + (extends if more else "labels = true\nsize_mib = 2048\n")
        )
    top = load_definition(str(tmp_path / "top.toml"))
    assert (top.name, top.title) == ("top", "top")
    assert top.packages == ("attr", "p-base", "p-middle", "p-top")
    assert (top.keep, top.tools[0]) == (("/base", "/middle", "/top"), "/bin/base")
    assert [part.path for part in top.parts] == ["/usr/base", "/usr/middle", "/usr/top"]
    assert (top.prepare_before, top.prepare) == (("/usr/base", "/usr/middle"), "/usr/top")
    assert top.labels
    assert top.size_mib == 1024  # of its own
    before = identity(top, PROGRAMS)
    (tmp_path / "base" / "usr" / "base").write_text("changed")
    assert identity(load_definition(str(tmp_path / "top.toml")), PROGRAMS) != before


def test_what_cannot_be_extended_is_refused(tmp_path: Path) -> None:
    def definition(name: str, extends: str) -> str:
        path = tmp_path / f"{name}.toml"
        path.write_text(f'title = "x"\npackages = []\nextends = "{extends}"\n')
        return str(path)

    definition("one", "./two.toml")
    with pytest.raises(UsageError, match=r"one\.toml: extends: in the end it extends itself"):
        load_definition(definition("two", "./one.toml"))
    with pytest.raises(UsageError, match=r"self\.toml: extends: in the end it extends itself"):
        load_definition(definition("self", "./self.toml"))
    with pytest.raises(UsageError, match="did you mean policy"):
        load_definition(definition("wrong", "polcy"))
    with pytest.raises(UsageError, match=r"none\.toml: cannot read it"):
        load_definition(definition("gone", "./none.toml"))
    with pytest.raises(UsageError, match="files: /a is in mine, which it extends"):
        extended(PLAIN, replace(PLAIN, name="top"), "top.toml")
    with pytest.raises(UsageError, match="suite: 'trixie', but it extends mine"):
        extended(PLAIN, replace(PLAIN, parts=(), suite="trixie"), "top.toml")


def test_the_servers_are_an_addition_to_the_policies() -> None:
    policy, servers = load_definition("policy"), load_definition("servers")
    assert set(policy.packages) < set(servers.packages)
    assert {part.path for part in policy.parts} < {part.path for part in servers.parts}
    assert servers.prepare_before == (policy.prepare,)
    assert servers.size_mib <= 2048  # guests have it in memory


def test_files_cannot_be_shifted_into_one_another() -> None:
    first = replace(PLAIN, parts=(FilePart("/a", b"bc"),))
    second = replace(PLAIN, parts=(FilePart("/ab", b"c"),))
    assert identity(first, PROGRAMS) != identity(second, PROGRAMS)
