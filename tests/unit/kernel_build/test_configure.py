# SPDX-License-Identifier: GPL-2.0-or-later
"""When the configuration of a kernel is made again, and when it is not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from lsmeter.core.errors import BuildError
from lsmeter.sources.kernels.build import fragment
from lsmeter.sources.kernels.build.fragment import Assignment
from lsmeter.sources.kernels.build.make import Slot

WANTED = [Assignment("SMP", "y", "base", 1)]


@pytest.fixture
def slot(tmp_path: Path) -> Slot:
    """Return a slot as a build leaves it: kconfig's account of what it read, and .config."""
    slot = Slot(tmp_path)
    (slot.objects / "include/config").mkdir(parents=True)
    (slot.tree / "security").mkdir(parents=True)
    (slot.tree / "Kconfig").write_text('source "security/Kconfig"\n')
    (slot.tree / "security/Kconfig").write_text("config SMP\n")
    (slot.objects / "include/config/auto.conf.cmd").write_text(
        "deps_config := \\\n\tsecurity/Kconfig \\\n\tKconfig \\\n\ninclude/config/auto.conf: \\\n"
    )
    (slot.objects / ".config").write_text("CONFIG_SMP=y\n")
    return slot


@pytest.fixture
def runs(slot: Slot, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return a list that grows with each run of make; tests/build runs the real one."""
    done: list[object] = []

    def run_make(_slot: Slot, targets: object, **_: object) -> int:
        done.append(targets)
        (slot.objects / ".config").write_text("CONFIG_SMP=y\n")
        return 0

    monkeypatch.setattr(fragment, "run_make", run_make)
    return done


def _configure(slot: Slot, wanted: list[Assignment] = WANTED) -> Mapping[str, str]:
    return fragment.configure(wanted, slot)


def test_what_was_built_is_not_configured_again(slot: Slot, runs: list[object]) -> None:
    assert _configure(slot) == {"SMP": "y"}
    fragment.remember(WANTED, slot)
    assert _configure(slot) == {"SMP": "y"}
    assert len(runs) == 1


def test_a_build_that_did_not_end_is_configured_again(slot: Slot, runs: list[object]) -> None:
    _configure(slot)
    _configure(slot)
    assert len(runs) == 2


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tree/security/Kconfig", "config SMP\n\tdefault y\n"),
        ("tree/Kconfig", ""),
        ("obj/.config", "# CONFIG_SMP is not set\n"),
        ("obj/include/config/auto.conf.cmd", "nothing that can be read"),
        ("obj/include/config/auto.conf.cmd", "deps_config := \\\n\tgone/Kconfig\n\n"),
    ],
)
def test_whatever_changes_is_configured_again(
    slot: Slot, runs: list[object], path: str, text: str
) -> None:
    fragment.remember(WANTED, slot)
    (slot.home / path).write_text(text)
    _configure(slot)
    assert len(runs) == 1


def test_other_words_are_configured_again(slot: Slot, runs: list[object]) -> None:
    fragment.remember(WANTED, slot)
    with pytest.raises(BuildError, match="CONFIG_PCI=y"):
        _configure(slot, [*WANTED, Assignment("PCI", "y", "mine", 1)])
    assert len(runs) == 1
