# SPDX-License-Identifier: GPL-2.0-or-later
"""Setups of the user's own, from TOML files."""

from __future__ import annotations

import base64
import os
import re
from pathlib import Path

import pytest

import lsmeter
from lsmeter.catalogue.setups import definitions, one_each, parse_setup, read_setup
from lsmeter.catalogue.setups._file import _SetupTable
from lsmeter.catalogue.workloads import load_workload
from lsmeter.core.errors import UsageError
from lsmeter.core.former import tell_with
from lsmeter.core.model.setup import EnforcementCheck, Layer, StateFile, Step
from lsmeter.sources.images.definition import load_definition
from lsmeter.sources.kernels.build.fragment import shipped_lsm

SMALL = 'name = "mine"\ntitle = "my module"\nlsms = ["mine"]\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_the_example_that_comes_with_lsmeter_is_read() -> None:
    setup = read_setup(shipped_lsm("example-lsm") / "example.toml")
    assert (setup.name, setup.over, setup.layer) == ("example-enforcing", "example", Layer.POLICY)
    message = "example: denied open"
    assert setup.checks[0] == EnforcementCheck(
        "read-closed", "read", "/closed", denied=True, message=message
    )
    assert setup.reads == (("example.enforce", "/sys/kernel/security/example/enforce"),)


def test_checks_may_be_called_proofs_as_they_once_were(tmp_path: Path) -> None:
    text = "[[{}]]\nname = 'a'\naccess = 'read'\npath = '/a'\ndenied = true\n"
    told: list[str] = []
    tell_with(told.append)
    new, old = (
        read_setup(written(tmp_path, SMALL + text.format(key))) for key in ("checks", "proofs")
    )
    assert new == old
    assert [said.partition(": ")[2] for said in told] == [
        "proofs is the former name of checks; version 2 will not take it"
    ]
    assert new.checks


def test_files_come_from_beside_the_setup_file(tmp_path: Path) -> None:
    (tmp_path / "policy.bin").write_bytes(b"\0\xff\n")
    setup = read_setup(written(tmp_path, SMALL + '[files]\npolicy = "policy.bin"\n'))
    assert base64.b64decode(setup.files[0].base64) == b"\0\xff\n"


def _outside(folder: Path) -> dict[str, str]:
    """Make what a file may not take, and name it."""
    secret = folder.parent / "secret"
    secret.write_text("of the user's own")
    (folder / "link").symlink_to(secret)
    (folder / "up").symlink_to("..")
    (folder / "below").mkdir()
    os.mkfifo(folder / "fifo")
    (folder / "large").write_bytes(bytes((1 << 20) + 1))
    return {
        **dict.fromkeys((str(secret), "../secret", "below/../../secret", "~/secret"), "not beside"),
        **dict.fromkeys(("link", "up/secret", "nul\\u0000"), "not beside"),
        "/dev/null": "not beside",
        "fifo": "a FIFO",
        "large": "larger than",
        "below": "Is a directory",
    }


def test_a_setup_file_takes_nothing_but_files_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    for name, said in _outside(folder).items():
        with pytest.raises(UsageError, match=said):
            read_setup(written(folder, SMALL + f'[files]\npolicy = "{name}"\n'))
        if said == "not beside" and "/" in name:
            with pytest.raises(UsageError, match=r"image: .* not beside"):
                read_setup(written(folder, SMALL + f'image = "{name}"\n'))
    (folder / "below/policy").write_text("mine")
    (folder / "inside").symlink_to("below/policy")
    for name in ("below/policy", "./below/policy", "inside"):
        setup = read_setup(written(folder, SMALL + f'[files]\npolicy = "{name}"\n'))
        assert base64.b64decode(setup.files[0].base64) == b"mine"
    assert read_setup(written(folder, SMALL + 'image = "./x.toml"\n')).image == f"{folder}/x.toml"


def test_workloads_and_images_take_nothing_but_files_beside_them(tmp_path: Path) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    text = (Path(lsmeter.__file__).parent / "catalogue/workloads/web.toml").read_text()
    image = 'title = "x"\npackages = []\n'
    (folder / "out").symlink_to("..")
    for name in ("../image.toml", f"{tmp_path}/image.toml", "out/image.toml", "~/image.toml"):
        mine = folder / "mine.toml"
        own = re.sub(r"^image = .*\n", "", text, flags=re.M).replace(
            "[[", f'image = "{name}"\n[[', 1
        )
        mine.write_text(own)
        with pytest.raises(UsageError, match=r"image: .* not beside"):
            load_workload(str(mine))
        mine.write_text(f'{image}extends = "{name}"\n')
        with pytest.raises(UsageError, match=r"extends: .* not beside"):
            load_definition(str(mine))
    for name in ("..", "out"):
        (folder / "mine.toml").write_text(f'{image}files = "{name}"\n')
        with pytest.raises(UsageError, match=r"files: .* not beside"):
            load_definition(str(folder / "mine.toml"))


def test_what_confines_a_worker_is_pairs_of_a_file_and_a_text(tmp_path: Path) -> None:
    setup = read_setup(written(tmp_path, SMALL + 'confine = [["/proc/self/x", "profile a"]]\n'))
    assert setup.confine == (("/proc/self/x", "profile a"),)
    with pytest.raises(UsageError, match=r"confine\.0"):
        read_setup(written(tmp_path, SMALL + 'confine = [["/proc/self/x"]]\n'))


def test_what_a_module_counts_itself(tmp_path: Path) -> None:
    text = '[[counters]]\nname = "rules"\npath = "/sys/kernel/security/mine/stats"\n'
    setup = read_setup(written(tmp_path, SMALL + text))
    assert setup.counters == (StateFile("rules", "/sys/kernel/security/mine/stats"),)


def test_a_file_can_stand_in_a_stack(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL + 'steps = [["mkdir", "/x"]]\n')
    stack = parse_setup(f"{path}+yama")
    assert stack.lsms == ("mine", "yama")
    assert stack.steps == (Step("mkdir", ("/x",)),)
    assert stack.over == "mine"


# A file with every table that a setup file can have, and every key in it.
_WHOLE = {
    "": "name title lsms cmdline needs_config modules note image steps before confine over layer",
    "checks": "name access path denied message",
    "states": "name path",
    "counters": "name path",
    "expect": "fact value why",
}
_KEYS = [(table, key) for table, keys in _WHOLE.items() for key in keys.split()]


@pytest.mark.parametrize(("table", "key"), _KEYS)
def test_a_mistyped_key_is_named_with_the_nearest_one(tmp_path: Path, table: str, key: str) -> None:
    mistyped = key[:-1] + "_"  # a letter is another one
    head = f"[[{table}]]\n" if table else ""
    mine = "".join(f"{name.replace(key, mistyped)} = 'a'\n" for name in _WHOLE[table].split())
    path = written(tmp_path, f"{head}{mine}" if table == "" else f"{SMALL}{head}{mine}")
    with pytest.raises(UsageError) as caught:
        read_setup(path)
    place = f"{table}.0.{mistyped}" if table else mistyped
    assert caught.value.title == f"{path}: unknown key '{place}'; did you mean {key}?"


def test_every_table_of_a_setup_file_is_known_here() -> None:
    tables = ("files", "reads")  # whose keys are names
    fields = {*_WHOLE[""].split(), *tables, *filter(None, _WHOLE)}
    assert fields == set(_SetupTable.model_fields)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('name = "mine"\n', "title: missing"),
        (SMALL + "lsm = 1\n", "unknown key 'lsm'; did you mean lsms?"),
        (SMALL + 'steps = [["rum", "/x"]]\n', "'rum' is no action; did you mean run?"),
        (SMALL + "steps = [[]]\n", "'' is no action"),
        (SMALL + '[files]\npolicy = "nowhere"\n', "files.policy: cannot read"),
        (SMALL + "[[checks]]\nname = 'a'\naccess = 'eat'\npath = '/a'\ndenied = true\n", "access"),
        (SMALL + "[[checks]]\nname = 'a'\naccess = 'read'\npath = '/a'\ndenied = 1\n", "denied"),
        ("name = ", "not valid TOML"),
        ('name = "Mine"\ntitle = "x"\nlsms = ["mine"]\n', "name: string should match"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_setup(written(tmp_path, text))
    assert said in caught.value.title
    assert "\n" not in caught.value.title


def test_a_missing_file_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such setup file"):
        parse_setup(str(tmp_path / "none.toml"))


def test_one_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a setup file"):
        read_setup(written(tmp_path, "#" * ((1 << 20) + 1)))


@pytest.mark.parametrize("name", sorted(n for n in definitions() if ":" not in n))
def test_no_file_takes_the_name_of_a_setup_that_comes_with_lsmeter(
    tmp_path: Path, name: str
) -> None:
    path = written(tmp_path, SMALL.replace('"mine"', f'"{name}"', 1))
    for word in (str(path), f"{path}+yama", f"landlock+{path}"):
        with pytest.raises(UsageError, match=f"'{name}' is a setup that comes with lsmeter"):
            parse_setup(word)


def test_a_name_stands_for_one_definition(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    first, same = written(tmp_path, SMALL), written(tmp_path / "other", SMALL)
    named = [(str(path), parse_setup(str(path))) for path in (first, same, first)]
    assert list(one_each(named)) == ["mine"]
    changed = written(tmp_path / "other", SMALL + 'cmdline = ["quiet"]\n')
    with pytest.raises(UsageError) as caught:
        one_each([*named, (str(changed), parse_setup(str(changed)))])
    assert "of one name, 'mine'" in caught.value.title
    assert "\n" not in caught.value.title


@pytest.mark.parametrize("over", ["./other.toml", "/etc/passwd", "Ünter", "a b"])
def test_what_it_adds_to_is_named_and_no_path(tmp_path: Path, over: str) -> None:
    with pytest.raises(UsageError, match="over: string should match"):
        read_setup(written(tmp_path, SMALL + f'over = "{over}"\n'))
