# SPDX-License-Identifier: GPL-2.0-or-later
"""What the machine lacks: one clear line, a documented exit code, and a way out."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lsmeter.core.model.arch import ARCHES
from tests.conftest import Lsmeter

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path_without(tmp_path: Path) -> str:
    """Return a PATH that has the programs lsmeter uses, but neither QEMU nor a compiler."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("apt-get", "apt-cache", "dpkg-deb", "mke2fs", "setpriv", "env", "sh"):
        found = shutil.which(name)
        if found:
            (folder / name).symlink_to(found)
    return str(folder)


def test_missing_qemu(lsmeter: Lsmeter, path_without: str) -> None:
    done = lsmeter("run", "--setup", "capability", PATH=path_without)
    assert done.code == 7
    assert "qemu-system-x86_64 is not installed" in done.err
    assert "apt-get install qemu-system-x86" in done.err


def test_doctor_says_what_is_missing_and_how_to_get_it(lsmeter: Lsmeter, path_without: str) -> None:
    done = lsmeter("doctor", "--format", "json", PATH=path_without)
    assert done.code == 7
    checks = {check["what"]: check for check in json.loads(done.out)["tables"]["checks"]}
    assert checks["QEMU"]["state"] == "missing"
    assert "apt-get install qemu-system-x86" in checks["QEMU"]["what_to_do"]
    assert "apt-get install gcc" in checks["compiler"]["what_to_do"]
    (other,) = (arch for arch in ARCHES.values() if not arch.is_host)
    packages = (other.package, other.compiler_packages, "qemu-user-static", "arch-test")
    assert all(name in checks["other architectures"]["what_to_do"] for name in packages)


def test_doctor_survives_a_kvm_that_hangs(lsmeter: Lsmeter) -> None:
    done = lsmeter("doctor")
    assert done.code == 0, done.out
    assert "KVM" in done.out
    assert "qemu" not in subprocess.run(
        ["ps", "--ppid", str(os.getpid()), "-o", "comm="], capture_output=True, text=True,
        check=False,
    ).stdout  # fmt: skip


def test_a_missing_probe(lsmeter: Lsmeter) -> None:
    done = lsmeter("list", "benchmarks", LSMETER_PROBE="/nowhere/probe")
    assert done.code == 3
    assert "/nowhere/probe" in done.err


def test_no_compiler_when_installing(tmp_path: Path, path_without: str) -> None:
    code = (
        "import runpy, pathlib; module = runpy.run_path('hatch_build.py'); "
        f"module['build_probe'](pathlib.Path('probe'), pathlib.Path({str(tmp_path)!r}) / 'probe')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PATH": path_without},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "install make gcc libc6-dev" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_network_and_nothing_cached(lsmeter: Lsmeter) -> None:
    # Port 9 of this machine answers nobody: every download fails at once.
    nowhere = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    cache = str(lsmeter.home / "cache")
    done = lsmeter("run", "--kernel", "debian:6.12", LSMETER_CACHE=cache, **nowhere)
    assert done.code == 7
    assert "debian:6.12" in done.err
    assert "hint:" in done.err


@pytest.fixture
def small_disk(tmp_path: Path) -> tuple[str, ...]:
    """Return words that run a command with a disk of 64 KiB at ./small."""
    (tmp_path / "small").mkdir()
    script = 'mount -t tmpfs -o size=64k none small && exec "$@"'
    words = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh")
    subprocess.run([*words, "true"], cwd=tmp_path, check=True)
    return words


@pytest.mark.parametrize("place", ["out", "data"])
@pytest.mark.guest
def test_a_full_disk_is_told_in_one_line(
    lsmeter: Lsmeter, small_disk: tuple[str, ...], place: str
) -> None:
    out = "small/run" if place == "out" else "run"
    extra = {"LSMETER_DATA": str(lsmeter.home / "small/data")} if place == "data" else {}
    words = ("run", "--setup", "capability", "--setup", "yama", "--boots", "3", "--run-dir", out)
    done = subprocess.run(
        [*small_disk, sys.executable, "-m", "lsmeter", *words],
        cwd=lsmeter.home,
        env=lsmeter.environment(extra),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 7, done.stderr
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
