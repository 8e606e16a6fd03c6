# SPDX-License-Identifier: GPL-2.0-or-later
"""Two runs of the same operations, as stored: one timed, one with events; their truth is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

from lsmeter.core.model import Benchmark, BenchmarkStatus, Boot, Samples
from lsmeter.measure.experiment.options import build_experiment
from lsmeter.measure.experiment.plan import PlannedBoot, make_plan
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.tasks.attribute import ATTRIBUTION, MARKER_INSNS
from lsmeter.measure.tasks.events import EVENTS, EVENTS_OUTPUT, HEADER
from tests.unit import timed_builders
from tests.unit.model_builders import benchmark, kernel
from tests.unit.prediction import synthetic
from tests.unit.run_builders import ended, stored

FRAME = {"insns": 5.0, "serialising": 2.0}  # of each reading, as `empty` shows
PLUGIN = "ab" * 32
FACTS = {
    "host.cpu": "A processor",
    "host.microcode": "0x1",
    "host.kernel": "6.18.0",
    "mitigations.spectre_v2": "Mitigation: Enhanced IBRS",
}
SETUPS = ("capability", "landlock")
# What landlock adds to a call of each benchmark.
ADDED = {"plain_insns": 400.0, "loads": 100.0, "returns": 12.0, "locked": 2.0}

KNOWN = synthetic.known(operations=8, variants=2)
BENCHMARKS: tuple[Benchmark, ...] = (
    timed_builders.EMPTY,
    timed_builders.GETPPID,
    *(benchmark(item.operation, variant=int(item.benchmark[-1])) for item in KNOWN),
)
_GETPPID = {"plain_insns": 300.0, "mode_switches": 2.0, "returns": 8.0, "loads": 80.0}
EVENTS_OF: dict[str, Mapping[str, float]] = {
    **{item.benchmark: item.events for item in KNOWN},
    "getppid": _GETPPID,
    "empty": {},
}


def events_of(setup: str, name: str) -> dict[str, float]:
    """Return the true events of a call."""
    found = dict(EVENTS_OF[name])
    if setup == "landlock" and name not in {"empty", "getppid"}:
        found = {key: found.get(key, 0.0) + ADDED.get(key, 0.0) for key in {**found, **ADDED}}
    return found


def timed(path: Path, monkeypatch: pytest.MonkeyPatch, *, blocks: int = 4) -> RunData:
    """Write and read what was timed: what the truth says, with noise of 0.5 % between blocks."""
    truth = {name: synthetic.cost_ns(events) for name, events in EVENTS_OF.items() if events}
    monkeypatch.setattr(timed_builders, "COSTS_NS", truth)
    factors = {
        ("landlock", name): synthetic.cost_ns(events_of("landlock", name)) / ns
        for name, ns in truth.items()
    }
    return timed_builders.run(
        path, factors, blocks=blocks, readings=20, benchmarks=BENCHMARKS, facts=FACTS
    )


def counted(
    path: Path,
    *,
    events: bool = True,
    plugin: str = PLUGIN,
    more: Mapping[str, float] = MappingProxyType({}),
    kinds: Sequence[str] = tuple(EVENTS),
) -> RunData:
    """Write and read what was counted; every call has some events more."""
    words = {
        "kernels": ["vmlinux"],
        "setups": [*SETUPS],
        "boots": 1,
        "task": "events" if events else "readings",
        "sampling": {"samples": 3, "warmup": 1, "whole_ppm": 0},
    }
    built = kernel("vmlinux", SECURITY_LANDLOCK="y")
    plan = make_plan(build_experiment(words, where="test"), [built], BENCHMARKS, {}, ("tmpfs",))

    def boot(planned: PlannedBoot) -> tuple[Boot, Mapping[str, bytes]]:
        setup, names = planned.cell.setup.name, planned.cell.benchmarks
        text = f"{HEADER}\nnames {' '.join(kinds)}\n"
        samples = []
        for place, name in enumerate(names):
            known = events_of(setup, name)
            extra = more if name != "empty" else {}
            vector = {key: known.get(key, 0.0) + extra.get(key, 0.0) for key in {**known, **extra}}
            insns = vector.get("plain_insns", 0.0) + vector.get("string_steps", 0.0)
            vector["insns"] = insns + FRAME["insns"] + MARKER_INSNS
            vector["serialising"] = vector.get("serialising", 0.0) + FRAME["serialising"]
            line = "v " + " ".join(str(round(vector.get(event, 0.0))) for event in kinds)
            text += f"region {place} 0\n" + f"{line}\n" * 4 + f"end {place}\n"
            samples.append(Samples(name, BenchmarkStatus.OK, (round(insns + 5),) * 3))
        outputs = {EVENTS_OUTPUT: (text + "eof\n").encode()} if events else {}
        return ended(planned, samples), outputs

    return stored(plan, path, boot, "replay", tools=((ATTRIBUTION, plugin),))


def rounded(events: Mapping[str, float]) -> dict[str, float]:
    """Return events as a run has them: whole numbers."""
    return {name: float(np.round(value)) for name, value in events.items()}


def again(item: RunData, baseline: str) -> RunData:
    """Return a run as if another setup had been its baseline."""
    return replace(item, manifest=replace(item.manifest, baseline_setup=baseline))
