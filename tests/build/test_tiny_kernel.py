# SPDX-License-Identifier: GPL-2.0-or-later
"""A tiny kernel from Debian's source, really built, changed, broken and booted."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from lsmeter.core.errors import BuildError, UsageError
from lsmeter.core.model import BootProtocol, Kernel
from lsmeter.sources.kernels.build.builder import build_kernel, prepare
from lsmeter.sources.kernels.build.fragment import shipped_lsm
from lsmeter.sources.kernels.build.source import stat_identity
from lsmeter.sources.kernels.resolve import resolve
from lsmeter.sources.kernels.sources.built import get_built, slots_dir
from tests.build import kernels
from tests.build.kernels import PLAIN, SOURCE
from tests.conftest import DEADLINE_S, Lsmeter

pytestmark = pytest.mark.build

# The name is of the tests' own: kernels of the user's stay as they are.
WITH_EXAMPLE = "test-tiny-example"
MACHINE = (
    *("-M", "microvm,x-option-roms=off,rtc=on", "-accel", "tcg,thread=single"),
    *("-rtc", "base=2024-01-01T00:00:00,clock=vm", "-seed", "42", "-m", "256"),
    *("-icount", "shift=4,sleep=off", "-cpu", "max,-erms"),
    *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial", "stdio"),
)


def boot(kernel: Kernel, *words: str) -> str:
    """Boot without a root file system, to the panic that then follows; return the console."""
    line = " ".join(("console=ttyS0", "panic=-1", "nokaslr", "reboot=t", *words))
    done = subprocess.run(
        ["qemu-system-x86_64", *MACHINE, "-kernel", str(kernel.image), "-append", line],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=DEADLINE_S,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout


@pytest.fixture(scope="module")
def plain() -> Kernel:
    return kernels.plain()


@pytest.fixture(scope="module")
def with_example(plain: Kernel) -> Kernel:  # after plain: both share their objects
    return build_kernel(SOURCE, ["tiny"], [shipped_lsm("example-lsm")], WITH_EXAMPLE)


def test_it_boots_to_the_panic_without_a_root(plain: Kernel) -> None:
    console = boot(plain)
    assert f"Linux version {plain.release}" in console
    assert "Kernel panic - not syncing: VFS: Unable to mount root fs" in console


def test_it_is_described_as_it_is(plain: Kernel) -> None:
    assert plain.release.startswith("6.1.")
    assert plain.boot_protocol is BootProtocol.PVH
    assert plain.config["PVH"] == "y"
    assert "MODULES" not in plain.config
    assert plain.system_map is not None
    assert " start_kernel\n" in plain.system_map.read_text()
    assert resolve(f"built:{PLAIN}") == plain


def test_what_is_unchanged_is_not_built_again(plain: Kernel) -> None:
    log = Path(prepare(SOURCE, ["tiny"], []).slot.log)
    before = log.stat().st_mtime_ns
    assert build_kernel(SOURCE, ["tiny"], name=PLAIN) == plain
    assert log.stat().st_mtime_ns == before


def test_a_module_of_the_users_is_built_in_and_starts(with_example: Kernel) -> None:
    assert with_example.config["SECURITY_EXAMPLE"] == "y"
    assert "example: counting permission checks" in boot(with_example, "lsm=example")
    assert "example: counting" not in boot(with_example, "lsm=")
    log = (slots_dir() / get_built(WITH_EXAMPLE).slot / "build.log").read_text()
    assert log.count("\n  CC ") < 200, "adding a module compiled the whole kernel"


def test_a_change_in_one_file_compiles_that_file_and_only_that(
    with_example: Kernel, tmp_path: Path
) -> None:
    mine = Path(shutil.copytree(shipped_lsm("example-lsm"), tmp_path / "example-lsm"))
    code = mine / "example.c"
    code.write_text(code.read_text().replace("counting permission", "COUNTING permission"))
    changed = build_kernel(SOURCE, ["tiny"], [mine], "test-tiny-changed")
    assert "example: COUNTING permission checks" in boot(changed, "lsm=example")
    log = prepare(SOURCE, ["tiny"], [mine]).slot.log.read_text()
    compiled = [line.split()[1] for line in log.splitlines() if line.startswith("  CC ")]
    own = {name for name in compiled if name.startswith(("security/", "mm/", "fs/", "kernel/"))}
    # Of the slot's kernels this alone has TMPFS_XATTR: another may have been built since.
    assert own - {"mm/shmem.o"} == {"security/example-lsm/example.o"}


def test_the_source_is_not_written(with_example: Kernel) -> None:
    tree = prepare(SOURCE, ["tiny"], []).source.path
    before = stat_identity(tree)
    build_kernel(SOURCE, ["tiny"], [shipped_lsm("example-lsm")], "test-tiny-again")
    assert stat_identity(tree) == before


def test_code_that_does_not_compile_is_shown_with_its_line(tmp_path: Path, plain: Kernel) -> None:
    mine = Path(shutil.copytree(shipped_lsm("example-lsm"), tmp_path / "example-lsm"))
    code = mine / "example.c"
    code.write_text(code.read_text().replace("atomic64_inc(&example_file_checks);", "oops();"))
    with pytest.raises(BuildError) as caught:
        build_kernel(SOURCE, ["tiny"], [mine], "test-tiny-broken")
    assert "security/example-lsm/example.c:" in caught.value.title
    assert "oops" in caught.value.title
    assert caught.value.log_path is not None
    assert "oops" in caught.value.log_path.read_text()
    with pytest.raises(UsageError):
        get_built("test-tiny-broken")


def test_an_option_that_cannot_be_had_is_named_with_the_reason(
    tmp_path: Path, plain: Kernel
) -> None:
    own = tmp_path / "own.config"
    own.write_text("CONFIG_SECURITY=y\n\nCONFIG_SECURITY_SELINUX=y\nCONFIG_NO_SUCH_THING=y\n")
    with pytest.raises(BuildError) as caught:
        build_kernel(SOURCE, ["tiny", str(own)], name="test-tiny-impossible")
    said = [caught.value.title, *caught.value.log_tail]
    selinux = next(line for line in said if "CONFIG_SECURITY_SELINUX=y" in line)
    assert "(own, line 3)" in selinux
    assert "AUDIT=n" in selinux
    assert "security/selinux/Kconfig:" in selinux
    assert any("CONFIG_NO_SUCH_THING=y" in line and "no such option" in line for line in said)


def test_the_policy_of_a_module_of_the_users_is_measured(
    with_example: Kernel, lsmeter: Lsmeter
) -> None:
    file = shipped_lsm("example-lsm") / "example.toml"
    setups = ("--setup", "capability", "--setup", "example", "--setup", str(file))
    few = ("--benchmark", "open depth=1", "--boots", "1", "--samples", "20", "--run-dir", "run")
    done = lsmeter("run", "--kernel", f"built:{WITH_EXAMPLE}", *setups, *few)
    assert done.code == 0, done.err
    report = json.loads(lsmeter("report", "run", "--format", "json").out)
    facts = {item["setup"]: item["facts"] for item in report["setups"]}["example-enforcing"]
    assert facts["proof.read-closed"] == "denied"
    assert "example: denied open of inode" in facts["proof.read-closed.message"]
    assert facts["proof.read-open"] == "allowed"
    cost = {item["setup"]: item["value"] for item in report["estimates"]}
    assert cost["capability"] < cost["example"] < cost["example-enforcing"]
