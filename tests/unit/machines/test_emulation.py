# SPDX-License-Identifier: GPL-2.0-or-later
"""What the emulator makes before its guests, and leaves after one that failed."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.model import Task
from lsmeter.guest.boot_image import initramfs_for
from lsmeter.machines import emulation
from lsmeter.machines.description import guest_of, qemu_command
from lsmeter.machines.emulation import MACHINE
from lsmeter.measure.experiment.plan import PlannedBoot
from tests.unit.model_builders import cell

CELL = cell(parse_setup("capability"))


def test_a_guest_that_failed_can_be_booted_by_hand(tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    command = MACHINE.write_boot_files(PlannedBoot(CELL, 0, 7), folder)
    assert shlex.split(command) == ["sh", str(folder / "boot.sh")]
    assert (folder / "initramfs").read_bytes() == initramfs_for(CELL, 7)
    shebang, script = (folder / "boot.sh").read_text().splitlines()
    assert shebang == "#!/bin/sh"
    enter, start = script.split(" && exec ")
    assert enter == 'cd "$(dirname "$0")"'
    guest = guest_of(CELL, 7)
    by_hand = replace(guest, console="/dev/stdout", results="results", initrd="initramfs")
    assert tuple(shlex.split(start)) == qemu_command(by_hand)


def test_what_guests_share_is_made_before_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    for name in ("disk_image", "kallsyms_init"):
        monkeypatch.setattr(emulation, name, lambda *_, name=name: made.append(name))
    MACHINE.prepare([CELL])
    assert made == []
    MACHINE.prepare([replace(CELL, filesystem="ext4"), replace(CELL, task=Task("attribute"))])
    assert made == ["disk_image", "kallsyms_init"]


@pytest.mark.parametrize("part", ["guest", "machines", "run"])
def test_nothing_waits_for_a_lock_beside_guests(part: str) -> None:
    """A lock that somebody else holds would hold up signals and the pipes of all guests."""
    for path in (Path(emulation.__file__).parents[1] / part).glob("*.py"):
        assert not re.search(r"\blocked\b", path.read_text())
