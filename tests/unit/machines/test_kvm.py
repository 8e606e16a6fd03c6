# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests in real time: how they are started, and how KVM is shown to work, or not to."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.model import Conditions
from lsmeter.machines import Prepares, find_machine, kvm
from lsmeter.machines.kvm import Proof, prove_kvm
from lsmeter.machines.qemu import qemu_version
from tests.unit.model_builders import cell

CELL = cell(parse_setup("capability"))
# Says its version; a guest of it does what `how` says, and each start is a line of `starts`.
QEMU = """#!/bin/sh
[ "$1" = --version ] && echo 'QEMU emulator version 7.2.0' && exit 0
echo "$@" >> {folder}/starts
{how}
"""
# What real guests end with: 1 by the exit device, 0 by a kernel that panics.
ENDS = 'case "$*" in *-kernel*) exit 0;; *) exit 1;; esac'


class Qemu:
    """A program in QEMU's place."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def does(self, how: str) -> None:
        path = self.folder / "qemu-system-x86_64"
        path.write_text(QEMU.format(folder=self.folder, how=how), encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    @property
    def starts(self) -> int:
        file = self.folder / "starts"
        return len(file.read_text("utf-8").splitlines()) if file.exists() else 0


@pytest.fixture
def qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Qemu:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path / "cache"))
    device = tmp_path / "kvm"
    device.touch()
    monkeypatch.setattr(kvm, "DEVICE", device)
    monkeypatch.setattr(kvm, "cached_kernel", lambda: CELL.kernel)
    qemu_version.cache_clear()
    found = Qemu(tmp_path)
    found.does(ENDS)
    return found


def later(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = time.time()
    monkeypatch.setattr(time, "time", lambda: now_s + seconds)


def test_a_guest_on_kvm_has_the_hosts_clock_and_processor() -> None:
    words = find_machine("kvm").command(CELL)
    assert dict(pairwise(words))["-accel"] == "kvm"
    assert "host,migratable=off" in words
    assert "base=utc,clock=host" in words
    assert "-icount" not in words
    assert dict(pairwise(words))["-M"] == "pc"  # the small board has no timer in real time
    exact = find_machine("emulation").command(CELL)
    kernel = {"-append", "-kernel", "-initrd", "-m", "-seed"}
    plain = tuple(word.removesuffix(" no_timer_check") for word in words)
    assert plain != words
    pairs = [set(pairwise(part)) for part in (plain, exact)]
    assert {pair for pair in pairs[0] if pair[0] in kernel} <= pairs[1]


def test_a_processor_that_was_asked_for_is_the_guests() -> None:
    asked = replace(CELL, conditions=Conditions(cpu="Skylake-Client"))
    assert "Skylake-Client" in find_machine("kvm").command(asked)
    assert Conditions.cpu in find_machine("tcg").command(CELL)


@pytest.mark.parametrize("name", ["kvm", "tcg"])
def test_nothing_in_real_time_is_watched_by_a_plugin(name: str) -> None:
    with pytest.raises(UsageError, match="cannot watch instructions"):
        find_machine(name).identity(["attribute"])


def test_guests_that_end_are_a_proof_that_is_kept(qemu: Qemu) -> None:
    first = prove_kvm()
    assert first.works
    assert CELL.kernel.name in first.said
    boots = qemu.starts
    assert boots == 4
    again = prove_kvm()
    assert again.known
    assert qemu.starts == boots
    assert not prove_kvm(fresh=True).known
    assert qemu.starts == 2 * boots


@pytest.mark.parametrize(("seconds", "works"), [(3700, True), (25 * 3600, False)])
def test_a_proof_runs_out(
    qemu: Qemu, monkeypatch: pytest.MonkeyPatch, seconds: float, works: object
) -> None:
    prove_kvm()
    later(seconds, monkeypatch)
    assert prove_kvm().known is works


def test_that_kvm_hangs_is_believed_for_an_hour(
    qemu: Qemu, monkeypatch: pytest.MonkeyPatch
) -> None:
    qemu.does("exec sleep 3600")
    proof = prove_kvm(deadline_s=0.2)
    assert not proof.works
    assert "hangs on it (boot 1: no end within 0.2 s)" in proof.said
    assert prove_kvm().known
    find_machine("kvm").identity()  # a plan needs no proof
    with pytest.raises(InfrastructureError, match=r"--machine kvm cannot be used: .*hangs") as said:
        cast("Prepares", find_machine("kvm")).prepare([])
    assert "doctor --fresh" in said.value.hint
    assert qemu.starts == 1
    qemu.does(ENDS)
    later(3700, monkeypatch)
    assert prove_kvm().works


def test_a_clock_that_was_put_back_voids_a_proof(
    qemu: Qemu, monkeypatch: pytest.MonkeyPatch
) -> None:
    prove_kvm()
    later(-60, monkeypatch)
    assert not prove_kvm().known


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"works": 1', "\0\xff"])
def test_a_damaged_proof_is_none(qemu: Qemu, tmp_path: Path, text: str) -> None:
    prove_kvm()
    (tmp_path / "cache/kvm.json").write_text(text, encoding="latin-1")
    proof = prove_kvm()
    assert proof.works
    assert not proof.known


def test_a_proof_is_of_one_boot_of_the_host(qemu: Qemu, monkeypatch: pytest.MonkeyPatch) -> None:
    prove_kvm()
    monkeypatch.setattr(kvm, "value_of", lambda _: "another")
    assert not prove_kvm().known


def test_qemu_that_fails_is_quoted(qemu: Qemu) -> None:
    qemu.does("echo 'Could not access KVM kernel module' >&2; exit 1")
    qemu.does('case "$*" in *-kernel*) echo "no KVM here" >&2; exit 3;; *) exit 1;; esac')
    assert prove_kvm().said == f"{CELL.kernel.name} failed on it: no KVM here"


def test_without_a_device_nothing_is_started_and_nothing_kept(
    qemu: Qemu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kvm, "DEVICE", tmp_path / "absent")
    proof = prove_kvm()
    assert "there is no" in proof.said
    assert qemu.starts == 0
    assert not (tmp_path / "cache/kvm.json").exists()


@pytest.mark.skipif(not os.access("/dev/kvm", os.R_OK | os.W_OK), reason="there is no KVM here")
def test_this_machines_kvm_is_survived(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path))
    monkeypatch.setattr(kvm, "cached_kernel", lambda: None)
    proof = prove_kvm(deadline_s=2)
    assert isinstance(proof, Proof)
    assert proof.works or "hangs on it" in proof.said or "failed on it" in proof.said
    mine = ["ps", "--ppid", str(os.getpid()), "-o", "comm="]
    left = subprocess.run(mine, capture_output=True, text=True, check=False).stdout
    assert "qemu" not in left
