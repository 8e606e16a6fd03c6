# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest is made of has to be what the cell says, before a boot and after it."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.core.errors import InfrastructureError
from lsmeter.core.limits import Limits
from lsmeter.core.model import Artifact, Cell, Image, KernelModule, Setup
from lsmeter.machines import emulation
from lsmeter.measure.experiment.plan import PlannedBoot
from tests.unit.model_builders import cell, kernel

KINDS = ("vmlinux", "brd.ko", "policy", "root.ext4", "probe")


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cell:
    """Return a cell of one file of each kind."""
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LSMETER_PROBE", str(tmp_path / "probe"))
    files = {name: tmp_path / name for name in KINDS}
    for name, path in files.items():
        path.write_text(name)
    digests = {name: hashlib.sha256(name.encode()).hexdigest() for name in KINDS}
    of = replace(
        kernel(),
        image=files["vmlinux"],
        image_sha256=digests["vmlinux"],
        modules=(KernelModule("brd", files["brd.ko"], digests["brd.ko"]),),
        artifacts={"policy": Artifact(files["policy"], digests["policy"])},
    )
    return replace(
        cell(Setup("x", "x", lsms=None), of=of),
        image=Image("policy", files["root.ext4"], digests["root.ext4"]),
        identity=(("probe", digests["probe"]),),
    )


def test_whole_files_are_fine(made: Cell) -> None:
    emulation.prove_files(made)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("when", ["before", "while it runs"])
def test_no_capture_comes_of_a_file_that_changed(
    made: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, when: str
) -> None:
    def change() -> None:
        (tmp_path / name).write_text(f"{name[:-1]}~")

    async def run_guest(*_: object) -> str:
        change()
        return "a capture"

    if when == "before":
        change()
    monkeypatch.setattr(emulation, "run_guest", run_guest)
    monkeypatch.setattr(emulation, "initramfs_for", lambda *_: b"")
    monkeypatch.setattr(emulation, "record", lambda *_: pytest.fail("it was taken for a result"))
    boot = emulation.MACHINE.run(PlannedBoot(made, 0, 1), Limits(), lambda _: None)
    with pytest.raises(InfrastructureError, match=f"{name} is damaged or was changed"):
        asyncio.run(boot)
