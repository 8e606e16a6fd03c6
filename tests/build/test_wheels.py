# SPDX-License-Identifier: GPL-2.0-or-later
"""Wheels for machines without a compiler: the same bytes anywhere, complete, and taken by clients.

A few operations of the probe stand for all of them: it is the way to a wheel that is tried.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from packaging.version import Version

from lsmeter.core.model.arch import ARCHES, ARM64, X86_64
from lsmeter.machines.plugin_sources import kallsyms_recipe, shipped_plugins

pytestmark = pytest.mark.build

ROOT = Path(__file__).parents[2]
OPERATIONS = {"calibration.c", "catalogue.c", "empty.c", "open.c", "tree.c"}
SHIPPED = {"docs": "_docs", "kernel": "_kernel", "plugin": "_plugin"}
PROGRAMS = {"lsmeter-bpf", "lsmeter-probe", "lsmeter-probe-arm64"}
GLIBC = Version("2.17")  # of the tag


def tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def copy_tree(home: Path, names: list[str]) -> None:
    for name in names:
        if not name.startswith("probe/ops/") or Path(name).name in OPERATIONS | {
            path.name for path in (ROOT / "probe/ops").glob("*.h")
        }:
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, home / name)
    # What lies about where people build.
    (home / "plugin/build").mkdir()
    (home / "plugin/build/left.o").touch()
    (home / "src/lsmeter/__pycache__").mkdir()
    (home / "src/lsmeter/__pycache__/left.cpython-311.pyc").touch()


def build(home: Path, umask: int, **variables: str) -> Path:
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(home / "made")],
        cwd=home,
        env={**os.environ, "LSMETER_WHEEL": X86_64.name, "CFLAGS": "-O0", **variables},
        umask=umask,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = (home / "made").iterdir()
    return wheel


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Build twice, and nothing alike that may differ from one machine to the next."""
    one, other = (tmp_path_factory.mktemp("build") / name for name in ("a", "another/place/b"))
    copy_tree(one, tracked())
    first = build(one, 0o022, TZ="UTC", LC_ALL="C", PYTHONHASHSEED="1")
    copy_tree(other, tracked()[::-1])
    return first, build(other, 0o077, TZ="Asia/Tokyo", LC_ALL="C.UTF-8", PYTHONHASHSEED="2")


@pytest.fixture(scope="module")
def members(wheels: tuple[Path, Path]) -> dict[str, bytes]:
    with zipfile.ZipFile(wheels[0]) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def programs(members: dict[str, bytes]) -> Iterator[tuple[str, ELFFile]]:
    for name, data in members.items():
        if name.startswith("lsmeter/_bin/"):
            yield Path(name).name, ELFFile(io.BytesIO(data))


def test_two_builds_are_the_same_bytes(wheels: tuple[Path, Path]) -> None:
    one, other = wheels
    assert one.name == other.name
    assert one.read_bytes() == other.read_bytes()


def test_a_wheel_has_all_that_is_needed_and_nothing_else(members: dict[str, bytes]) -> None:
    wanted = {f"lsmeter/_bin/{name}" for name in PROGRAMS}
    wanted |= {f"lsmeter/_bin/{item.name}" for item in shipped_plugins()}
    wanted |= {f"lsmeter/_bin/{kallsyms_recipe(arch).name}" for arch in ARCHES.values()}
    for name in tracked():
        top, _, rest = name.partition("/")
        if name.startswith("src/lsmeter/"):
            wanted.add(name.removeprefix("src/"))
        elif top in SHIPPED:
            wanted.add(f"lsmeter/{SHIPPED[top]}/{rest}")
    found = {name for name in members if ".dist-info/" not in name}
    assert found == wanted


def test_it_has_its_licences(members: dict[str, bytes]) -> None:
    texts = {Path(name).name for name in members if ".dist-info/licenses/" in name}
    assert texts == {path.name for path in (ROOT / "LICENSES").iterdir()}
    (metadata,) = (data for name, data in members.items() if name.endswith("/METADATA"))
    assert b"\nLicense-Expression: GPL-2.0-or-later AND GPL-2.0-only\n" in metadata


def test_programs_are_static_and_plugins_take_an_old_c_library(members: dict[str, bytes]) -> None:
    for name, elf in programs(members):
        dynamic = elf.get_section_by_name(".dynamic")
        if not name.endswith(".so"):
            assert dynamic is None, name
            continue
        needed = [tag.needed for tag in dynamic.iter_tags() if tag.entry.d_tag == "DT_NEEDED"]
        assert needed == ["libc.so.6"], name  # which is musl's own name for itself, too
        versions = elf.get_section_by_name(".gnu.version_r").iter_versions()
        asked = [Version(item.name.removeprefix("GLIBC_")) for _, all_ in versions for item in all_]
        assert max(asked) <= GLIBC, name


def test_each_is_of_the_machine_it_runs_on(members: dict[str, bytes]) -> None:
    found = {name: elf.header.e_machine for name, elf in programs(members)}
    # What guests of another architecture run, and what this machine and its guests do.
    others = {name for name, machine in found.items() if machine == ARM64.elf}
    assert others == {"lsmeter-probe-arm64", kallsyms_recipe(ARM64).name}
    assert {found[name] for name in {*found} - others} == {X86_64.elf}


def test_no_file_says_where_it_was_built(
    wheels: tuple[Path, Path], members: dict[str, bytes]
) -> None:
    places = [str(wheel.parents[1]).encode() for wheel in wheels]
    assert [name for name, data in members.items() if any(item in data for item in places)] == []


@pytest.mark.parametrize("version", ["7.2.22", "8.2.2", "10.0.11"])
def test_plugins_are_found_without_a_compiler(
    wheels: tuple[Path, Path], tmp_path: Path, version: str
) -> None:
    zipfile.ZipFile(wheels[0]).extractall(tmp_path)
    code = (
        "import sys; from lsmeter.core.model.arch import ARCHES;"
        "from lsmeter.machines.plugin import build_plugin, kallsyms_init;"
        "print(*(build_plugin(name, sys.argv[1]).path for name in ('attribution', 'tally')),"
        " *(kallsyms_init(arch).path for arch in ARCHES.values()), sep='\\n')"
    )
    nowhere = {"CC": "/nowhere/cc", "LSMETER_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code, version],
        cwd=tmp_path,
        env={**os.environ, **nowhere, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {Path(line).parent for line in done.stdout.splitlines()} == {tmp_path / "lsmeter/_bin"}


@pytest.mark.parametrize(
    ("platform", "taken"),
    [
        ("x86_64-unknown-linux-gnu", True),
        ("x86_64-unknown-linux-musl", True),
        ("aarch64-unknown-linux-gnu", False),
    ],
)
def test_clients_take_it_on_both_c_libraries(
    wheels: tuple[Path, Path], tmp_path: Path, platform: str, *, taken: bool
) -> None:
    words = ("pip", "install", "--no-deps", "--no-index", "--dry-run", "--target", str(tmp_path))
    done = subprocess.run(
        [Path(sys.executable).with_name("uv"), *words, "--python-platform", platform, wheels[0]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) == taken, done.stderr
    assert taken or "platform" in done.stderr


@pytest.mark.parametrize(
    ("variables", "why"),
    [({"LSMETER_WHEEL": "riscv64"}, "riscv64"), ({"PATH": "/nowhere"}, "install make")],
)
def test_a_wheel_is_whole_or_is_not_made(
    wheels: tuple[Path, Path], variables: dict[str, str], why: str
) -> None:
    home = wheels[0].parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(home / "refused")],
        cwd=home,
        env={**os.environ, "LSMETER_WHEEL": "x86_64", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert why in done.stderr
    assert "Traceback" not in done.stderr
    assert [*(home / "refused").iterdir()] == []
