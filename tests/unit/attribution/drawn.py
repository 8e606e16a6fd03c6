# SPDX-License-Identifier: GPL-2.0-or-later
"""Run directories with attribution whose readings and call trees a test draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lsmeter.core.model import BenchmarkStatus, Boot, Samples
from lsmeter.measure.experiment.options import build_experiment
from lsmeter.measure.experiment.plan import PlannedBoot, make_plan
from lsmeter.measure.tasks.attribute import ATTRIBUTION, MARKER_INSNS
from lsmeter.questions.attribution.profile import Tree
from tests.unit.attribution.trees import nodes_text, tree
from tests.unit.model_builders import benchmark, kernel
from tests.unit.run_builders import ended, stored

OPEN, STAT = benchmark("open", depth=1), benchmark("stat", depth=1)

# Readings, and the trees that were kept, by benchmark.
Drawn = Mapping[str, tuple[Sequence[int], Sequence[Tree]]]


def call(own: int, hook: int) -> Tree:
    """Build a call that spends so much outside of its hook, and so much below it."""
    inner = ("security_file_open", 1, hook, ())
    return tree(("[user]", 0, 0, ()), ("entry_SYSCALL_64", 1, own, (inner,)))


def reading(of: Tree) -> int:
    """Return what the guest's clock says of a tree."""
    return of.insns - MARKER_INSNS


def steady(**hooks: int) -> Drawn:
    """Return benchmarks (open, stat) whose calls always cost the same, by what is below a hook."""
    known = {item.operation: item.id for item in (OPEN, STAT)}
    trees = {known[name]: call(1000, hook) for name, hook in hooks.items()}
    return {name: ([reading(of)] * 5, [of]) for name, of in trees.items()}


def draw_run(path: Path, draw: Callable[[PlannedBoot], Drawn], *setups: str, **words: Any) -> Path:
    """Write a run of setups whose boots are as `draw` says; words: of the experiment."""
    asked = {"kernels": ["vmlinux"], "setups": list(setups or ("capability", "selinux"))}
    experiment = build_experiment({**asked, "boots": 1, "task": "attribute", **words}, where="test")
    built = kernel("vmlinux", SECURITY_SMACK="y")
    plan = make_plan(experiment, [built], (OPEN, STAT), {}, ("tmpfs", "ext4"))

    def boot(planned: PlannedBoot) -> tuple[Boot, Mapping[str, bytes]]:
        found = draw(planned)
        samples = [
            Samples(item.id, BenchmarkStatus.OK, tuple(found[item.id][0]))
            for item in (OPEN, STAT)
            if item.id in found
        ]
        regions = (_region(at, *found[item.benchmark]) for at, item in enumerate(samples))
        text = f"lsmeter-attribution 3\n{''.join(regions)}stray 0\nrefused 0\neof\n"
        return ended(planned, samples), {ATTRIBUTION: text.encode()}

    stored(plan, path, boot, "attributed")
    return path


def _region(number: int, values: Sequence[int], trees: Sequence[Tree]) -> str:
    totals = Counter(value + MARKER_INSNS for value in values)
    text = f"region {number} {len(values)} 0 0 0\n"
    text += "".join(f"t {insns} {count}\n" for insns, count in totals.items())
    text += "".join(f"tree {of.insns}\n{nodes_text(of)}" for of in trees)
    return f"{text}end {number}\n"
