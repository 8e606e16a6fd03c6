# SPDX-License-Identifier: GPL-2.0-or-later
"""How long parts of runs took: on this machine, else on the one that lsmeter was tried on.

A guess for plans. Nothing that is measured depends on it, and what cannot be read is left out.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import resources
from statistics import fmean
from typing import TYPE_CHECKING

from lsmeter.core.entries import read_facts, write_facts
from lsmeter.core.errors import LsmeterError
from lsmeter.core.groups import grouped
from lsmeter.core.storage import cache_dir

if TYPE_CHECKING:
    from pathlib import Path

    from lsmeter.measure.experiment.plan import PlannedBoot

_MOST_S = 1e6
_LEAST_S = 1e-4
_TELLING = 10  # benchmarks: in a boot of fewer, the time until the first ends is not its start


def read() -> Mapping[str, float]:
    """Return seconds by part: a guest's start, a benchmark in it, fetching a kernel, an image."""
    text = resources.files("lsmeter.measure.run").joinpath("took.toml").read_text("utf-8")
    found: dict[str, float] = tomllib.loads(text)["seconds"]
    return {**found, **_own()}


def length_s(times: Mapping[str, float], machine: str, boot: PlannedBoot) -> float | None:
    """Return how long a boot takes by those like it; None where there was none."""
    one = times.get(_kind(machine, boot))
    return None if one is None else times.get(_start(machine), 0.0) + one * _parts(boot)


def keep(machine: str, took: Iterable[tuple[PlannedBoot, float, float]]) -> None:
    """Remember how long boots and their starts took; a full disk costs the guess and no more."""
    took = list(took)
    starts = [start_s for boot, _, start_s in took if start_s and boot.cell.units >= _TELLING]
    start_s = fmean(starts) if starts else read().get(_start(machine), 0.0)
    each = grouped(
        (_kind(machine, boot), max((wall_s - start_s) / _parts(boot), _LEAST_S))
        for boot, wall_s, _ in took
    )
    if starts:
        each[_start(machine)] = [start_s]
    if each:
        found = {**_own(), **{kind: round(fmean(of), 4) for kind, of in each.items()}}
        with suppress(LsmeterError):
            write_facts(_file(), found)


def _start(machine: str) -> str:
    return f"{machine} start"


def _kind(machine: str, boot: PlannedBoot) -> str:
    cell = boot.cell
    if cell.task.workload is not None:
        return f"{machine} {cell.task.name} {cell.suite} batch"
    whole = "whole" if cell.sampling.whole_ppm else "quick"
    return f"{machine} {cell.task.name} {cell.suite} {whole}"


def _parts(boot: PlannedBoot) -> int:
    """Return of how many parts of about one length a boot consists: benchmarks, or their batches.

    A service's batch takes long enough that their number is the length of a boot; readings of a
    system call do not.
    """
    cell = boot.cell
    batches = cell.sampling.samples + cell.sampling.warmup
    return cell.units * (1 if cell.task.workload is None else batches)


def _own() -> dict[str, float]:
    found: dict[str, float] = read_facts(_file(), dict[str, float]) or {}
    return {kind: value for kind, value in found.items() if 0 < value < _MOST_S}


def _file() -> Path:
    return cache_dir() / "took.json"
