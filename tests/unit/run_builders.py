# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs on disk, made by the real plan and the real execution, with guests that are recorded."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lsmeter.core.limits import Limits
from lsmeter.core.model import (
    Benchmark,
    BenchmarkStatus,
    Boot,
    BootStatus,
    Cell,
    Kernel,
    Samples,
)
from lsmeter.guest.boot_image import make_request
from lsmeter.guest.capture import Capture, Ending
from lsmeter.machines import Machine, OnResults
from lsmeter.measure.experiment.options import build_experiment
from lsmeter.measure.experiment.plan import Plan, PlannedBoot, make_plan, merge_plans
from lsmeter.measure.results.boots import write_boot
from lsmeter.measure.results.directory import RunData, create_run, read_run
from lsmeter.measure.results.documents import sealed
from lsmeter.measure.results.manifest import Circumstances, make_manifest
from lsmeter.measure.run.execute import Settings, execute
from tests.unit.guest.lines import lines, whole
from tests.unit.model_builders import benchmark, kernel

Answer = bytes | Capture


@dataclass
class Scripted(Machine):
    """Answers each guest with what `answer` returns for its cell, and remembers its guests."""

    answer: Callable[[Cell], Answer]
    booted: list[Cell] = field(default_factory=list)
    finished: list[int | Ending | None] = field(default_factory=list)
    name = "scripted"
    title = "a test"

    def identity(self, plugins: Iterable[str] = ()) -> Mapping[str, str]:
        return {"plugins": " ".join(plugins)}

    def command(self, cell: Cell) -> tuple[str, ...]:
        return (cell.setup.name,)

    async def run(self, boot: PlannedBoot, limits: Limits, on_results: OnResults) -> Capture:
        self.booted.append(boot.cell)
        found = self.answer(boot.cell)
        capture = (
            found if isinstance(found, Capture) else Capture(found, b"", Ending.EXITED, 0, 12.5)
        )
        assert len(capture.results) < limits.results_bytes
        self.finished.append(on_results(capture.results))
        return capture


class Watching:
    """Remembers what boots ended as."""

    def __init__(self) -> None:
        self.ends: list[tuple[Boot, bool]] = []
        self.notes: list[str] = []
        self.damages: list[tuple[PlannedBoot, str]] = []

    def started(self, boot: PlannedBoot) -> None:
        pass

    def advanced(self, boot: PlannedBoot, benchmarks: int) -> None:
        pass

    def noted(self, text: str) -> None:
        self.notes.append(text)

    def damaged(self, boot: PlannedBoot, why: str) -> None:
        self.damages.append((boot, why))

    def ended(self, boot: PlannedBoot, result: Boot, *, reused: bool) -> None:
        assert boot.cell.hash == result.cell_hash
        self.ends.append((result, reused))


def plan_of(
    kernels: Sequence[Kernel], benchmarks: Sequence[Benchmark], *words: Mapping[str, Any]
) -> Plan:
    """Plan experiments as one run."""
    return merge_plans(
        [
            make_plan(
                build_experiment({"boots": 1, "seed": 1, **item}, where="test"),
                kernels,
                benchmarks,
                {},
                ("tmpfs", "ext4"),
            )
            for item in words
        ]
    )


def begun(plan: Plan, path: Path, machine: str, **changes: Any) -> None:
    """Make the run directory of a plan; changes: of its manifest."""
    told = Circumstances("0", "2026-01-01T00:00:00+00:00", "lsmeter run", machine, (), ())
    manifest = make_manifest(plan, told, {cell.hash: () for cell in plan.cells})
    create_run(path, replace(manifest, **changes))


def stored(
    plan: Plan,
    path: Path,
    boot: Callable[[PlannedBoot], tuple[Boot, Mapping[str, bytes]]],
    machine: str = "exact",
    **changes: Any,
) -> RunData:
    """Store a run whose boots ended as `boot` says, each with its outputs, and read it."""
    begun(plan, path, machine, **changes)
    for planned in plan.boots:
        found, outputs = boot(planned)
        capture = Capture(b"", b"", Ending.EXITED, 0, 0.0, outputs=outputs)
        request = make_request(planned.cell, planned.seed)
        write_boot(path / "boots" / planned.id.folder, found, capture, request)
    return read_run(path)


def ended(planned: PlannedBoot, samples: Iterable[Samples], **more: Any) -> Boot:
    """Return a boot that went well."""
    return Boot(**vars(planned.id), status=BootStatus.OK, samples=tuple(samples), **more)


def carry_out(plan: Plan, path: Path, machine: Machine, *, fresh: bool = False) -> Watching:
    """Carry a plan out into a run directory."""
    begun(plan, path, "scripted")
    watching = Watching()
    asyncio.run(execute(plan, path, machine, Settings(1, fresh=fresh), watching))
    return watching


def run_of(plan: Plan, path: Path, answer: Callable[[Cell], Answer]) -> RunData:
    """Carry a plan out with scripted guests, and read the run."""
    carry_out(plan, path, Scripted(answer))
    return read_run(path)


def said_by(cell: Cell, facts: Sequence[str], blocks: Mapping[str, Sequence[str]]) -> bytes:
    """Return what a guest of `cell` with seed 1 says; blocks: the lines of each benchmark.

    Their kinds are followed by what stands after the index: `samples 7x8`.
    """
    asked = make_request(cell, 1)
    bodies = [
        f"fact filesystem {cell.filesystem}",
        f"fact worker.uid {1000 if cell.user == 'user' else 0}",
        f"fact kernel.release {cell.kernel.release}",
        *facts,
    ]
    for index in range(asked.units):
        unit, _ = asked.unit(index)
        bodies.append(f"begin {index} {quote(unit, safe='=')}")
        inner = (line.partition(" ") for line in blocks[unit])
        bodies += [f"{kind} {index} {rest}" for kind, _, rest in inner]
        if asked.whole_ppm and unit != "empty" and f"whole {index} " not in "\n".join(bodies):
            bodies += whole(index)
        bodies.append(f"end {index} status=ok n={asked.samples} failures=0 errno=0 detail=")
    return lines(*bodies, f"bye {asked.units}")


def rewrite(path: Path, change: Callable[[Any], object], version: int | None = None) -> None:
    """Change a stored document, as if it had been written so; of another format, if named."""
    document = json.loads(path.read_bytes())
    change(document)
    content = {key: document[key] for key in document if key != "sha256"}
    name, known = content.pop("format"), content.pop("version")
    path.write_bytes(sealed(name, version or known, content))


def with_facts(boot: Boot, **facts: str) -> Boot:
    """Replace facts of a boot; an underscore stands for a dot."""
    named = {key.replace("_", "."): value for key, value in facts.items()}
    return replace(boot, facts=tuple({**dict(boot.facts), **named}.items()))


def run_over_kernels(
    path: Path, costs: Mapping[str, int], setups: Sequence[str], **changes: Any
) -> RunData:
    """Return a run in which each kernel's selinux costs that much, and its baseline 1,000.

    Names that end in :arm64 are kernels of arm64, of the same releases in the same order; changes:
    of its manifest.
    """
    opened = benchmark("open", depth=1)
    asked = build_experiment({"setups": [*setups], "boots": 2}, where="test")
    seen = Counter[str]()
    kernels = []
    for at, name in enumerate(costs):
        arch = name.partition(":")[2] or "x86_64"
        release = f"6.{seen[arch]}"
        own = replace(kernel(name), image_sha256=f"{at:064x}", arch=arch)
        kernels.append(replace(own, release=release, version=f"{release}-1"))
        seen[arch] += 1
    plan = make_plan(asked, kernels, (opened,), {}, ("tmpfs",))

    def samples(planned: PlannedBoot) -> Iterator[Samples]:
        own = planned.cell.setup.name == "selinux"
        cost = costs[planned.cell.kernel.name] if own else 1000
        yield Samples(opened.id, BenchmarkStatus.OK, (cost,) * 10)

    return stored(plan, path, lambda planned: (ended(planned, samples(planned)), {}), **changes)
