# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs for the guest: found, missing, not built for want of a compiler, and their errors."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import hatch_build
import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.errors import BuildError
from lsmeter.core.model.arch import ARM64, X86_64, Arch, arch_of_host
from lsmeter.guest import probe
from lsmeter.guest.boot_image import setup_files
from lsmeter.guest.probe import find_program
from lsmeter.machines.plugin_sources import kallsyms_recipe, shipped_plugins
from lsmeter.measure.experiment.options import build_experiment
from lsmeter.measure.experiment.plan import make_plan, programs_of, setups_of
from tests.unit.model_builders import benchmark, cell, kernel

BPF = Path(__file__).parents[3] / "bpf"


def test_a_setup_brings_its_program_along() -> None:
    ((path, data),) = setup_files(cell(parse_setup("lomac"))).items()
    assert path == "/setup/lsmeter-bpf"
    assert data == find_program("lsmeter-bpf").path.read_bytes()


def test_a_missing_program_is_one_line_that_names_the_packages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(probe, "SHIPPED", tmp_path)
    with pytest.raises(BuildError, match=r"no lsmeter-bpf for .*clang libbpf-dev") as caught:
        find_program("lsmeter-bpf")
    assert "apt-get install clang" in caught.value.hint


def test_without_clang_nothing_is_built_and_nothing_old_is_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLANG", "no-such-compiler")
    old = tmp_path / "lsmeter-bpf"
    old.write_bytes(b"of an earlier source")
    assert not hatch_build.build_bpf(BPF, old, "cc")
    assert not old.exists()


MAKE = """\
#!/bin/sh
for word; do case $word in O=*) out=${word#O=} ;; CC=*) compiler=${word#CC=} ;; esac; done
printf %s "$compiler" >"$out/lsmeter-probe"
printf %s "$compiler" >"$out/lsmeter-bpf"
"""
COMPILER = """\
#!/bin/sh
while [ "$1" != -o ]; do shift; done
printf %s "${0##*/}" >"$2"
"""


@pytest.fixture
def stub_compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put into PATH what says by which compiler a file was made; return their folder."""
    home = tmp_path / "compilers"
    home.mkdir()
    scripts = {"make": MAKE, "cc": COMPILER, ARM64.compiler: COMPILER, X86_64.compiler: COMPILER}
    for name, script in scripts.items():
        (home / name).write_text(script)
        (home / name).chmod(0o755)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", f"{home}:/usr/bin:/bin")
    return home


@pytest.mark.parametrize("arch", [X86_64, ARM64])
def test_each_part_of_a_wheel_is_made_for_the_machine_that_runs_it(
    stub_compilers: Path, tmp_path: Path, arch: Arch
) -> None:
    home = tmp_path / "made"
    home.mkdir()
    made = hatch_build.build_release(BPF.parent, arch, home)
    own = arch_of_host()
    by = {of: "cc" if of is own else of.compiler for of in (X86_64, ARM64)}
    wanted = {probe.probe_name(of): by[of] for of in (X86_64, ARM64)}  # for guests of both
    wanted |= {recipe.name: by[arch] for recipe in shipped_plugins()}  # in QEMU's process
    # Guests whose symbols are asked for.
    wanted |= {kallsyms_recipe(of).name: by[of] for of in (X86_64, ARM64)}
    if arch is own:
        wanted["lsmeter-bpf"] = "cc"
    assert {path.name: path.read_text() for path in made} == wanted


@pytest.mark.parametrize(("program", "package"), [("cc", "gcc"), ("other", "-linux-gnu")])
def test_a_wheel_that_lacks_a_part_is_not_made(
    stub_compilers: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    package: str,
) -> None:
    (other,) = (of for of in (X86_64, ARM64) if of is not arch_of_host())
    name = other.compiler if program == "other" else program
    (stub_compilers / name).unlink()
    monkeypatch.setenv("PATH", str(stub_compilers))
    with pytest.raises(SystemExit, match=f"{name} not found: install make .*{package}"):
        hatch_build.build_release(BPF.parent, arch_of_host(), tmp_path)


def test_only_cells_that_need_a_program_depend_on_it() -> None:
    experiment = build_experiment({"setups": ["capability", "lomac"]}, where="test")
    assert [name for item in setups_of(experiment) for name in programs_of(item)] == ["lsmeter-bpf"]
    catalogue = (benchmark("open", depth=1),)
    kernels = [kernel(BPF_LSM="y", DEBUG_INFO_BTF="y", DYNAMIC_FTRACE_WITH_DIRECT_CALLS="y")]
    hashes = [
        {
            item.setup.name: item.hash
            for item in make_plan(
                experiment, kernels, catalogue, {}, ["tmpfs"], programs={"lsmeter-bpf": digest}
            ).cells
        }
        for digest in ("one", "another")
    ]
    assert hashes[0]["capability"] == hashes[1]["capability"]
    assert hashes[0]["lomac"] != hashes[1]["lomac"]


def test_another_set_of_levels_is_another_cell() -> None:
    one = cell(parse_setup("lomac"))
    assert replace(one, setup=parse_setup("lomac:level=low")).hash != one.hash


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        ((), 2, "usage:"),
        (("selinux", "x"), 2, "usage:"),
        (("lomac", "relative=low"), 1, "'relative=low' is not /PATH=low or /PATH=high"),
        (("lomac", "/=medium"), 1, "'/=medium' is not"),
        (("lomac", "/a/=low"), 1, "must not end with a slash"),
        (("lomac", *["/=low"] * 257), 1, "more than 256"),
        (("allow", "0", "/"), 1, "wants ENTRIES"),
        (("allow", "100001", "/"), 1, "wants ENTRIES"),
        (("allow", "2x", "/"), 1, "wants ENTRIES"),
        (("allow", "1", "/", "/tmp"), 1, "wants ENTRIES"),
        (("allow", "9", "/no/such"), 1, "/no/such: No such file"),
        (("allow", "9", "/usr/bin"), 1, "no file system is mounted at /usr/bin"),
    ],
)
def test_the_loader_says_what_is_wrong(words: tuple[str, ...], code: int, part: str) -> None:
    done = subprocess.run(
        [find_program("lsmeter-bpf").path, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert part in done.stderr
    assert code == 2 or len(done.stderr.splitlines()) == 1
