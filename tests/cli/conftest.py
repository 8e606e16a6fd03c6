# SPDX-License-Identifier: GPL-2.0-or-later
"""The command on a machine whose guests were recorded."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from lsmeter.core.errors import BuildError
from tests.conftest import InProcess, Lsmeter
from tests.unit.bisection.repositories import repository
from tests.unit.guest.lines import bodies, lines, restated
from tests.unit.kernels.synthetic import bzimage, elf

CAPTURES = Path(__file__).parents[1] / "data" / "captures"
# What `open depth=1` says, and where it is costlier.
OPEN, COSTLIER = "samples 2 2865x4,3028,2865x15", "samples 2 3065x4,3228,3065x15"
MORE_INSNS = 200


@pytest.fixture
def replay(in_process: InProcess, monkeypatch: pytest.MonkeyPatch) -> Lsmeter:
    """Return the command on a machine whose guests are recorded; its kernel is ./kernel."""
    (in_process.home / "kernel").write_bytes(bzimage(elf(), release="6.1.0-56-cloud-amd64"))
    monkeypatch.setenv("LSMETER_REPLAY", str(CAPTURES))
    monkeypatch.setenv("LSMETER_CACHE", str(in_process.home / "cache"))
    return in_process


@pytest.fixture
def history(replay: Lsmeter, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return nine commits of a `kernel` whose guests say what the commit's files tell them to.

    From the seventh on `open depth=1` takes 200 instructions more; the fifth does not build, and
    a guest of the sixth panics.
    """
    for name in ("cheap", "costly", "panics"):
        shutil.copytree(CAPTURES / "capability", replay.home / name / "capability")
    shutil.rmtree(replay.home / "panics" / "capability")
    shutil.copytree(CAPTURES / "tomoyo", replay.home / "panics" / "capability")
    costly = replay.home / "costly" / "capability"
    results = costly / "readings-0" / "results"
    results.write_bytes(costlier(restated(results.read_bytes(), (OPEN, COSTLIER))))
    for name in ("cheap", "costly", "panics"):  # of which the plugin's output is lost
        home = replay.home / name / "capability"
        shutil.rmtree(home / "attribute-0", ignore_errors=True)
        shutil.copytree(home / "readings-0", home / "attribute-0")

    def build(source: str, *_: object) -> SimpleNamespace:
        said = (Path(source) / "guest").read_text()
        if said == "broken":
            raise BuildError("the kernel does not build: main.c:1: error: oops")
        monkeypatch.setenv("LSMETER_REPLAY", str(replay.home / said))
        return SimpleNamespace(name="./kernel")

    monkeypatch.setattr("lsmeter.sources.kernels.build.builder.build_kernel", build)
    guests = ["cheap"] * 4 + ["broken", "panics"] + ["costly"] * 3
    return repository(replay.home / "tree", [{"guest": guest} for guest in guests])


def costlier(data: bytes) -> bytes:
    """Let the windows of `open depth=1` have what its readings have."""

    def more(text: str) -> str:
        if not text.startswith("window 2 "):
            return text
        name, index, operations, loop, bulk, *rest = text.split(" ")
        bulk = str(int(bulk) + MORE_INSNS * int(operations))
        return " ".join((name, index, operations, loop, bulk, *rest))

    return lines(*map(more, bodies(data)))
