# SPDX-License-Identifier: GPL-2.0-or-later
"""What `history` says first: how each setup's overhead went from kernel to kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.core.model import BenchmarkStatus, Samples
from lsmeter.measure.experiment.options import build_experiment
from lsmeter.measure.experiment.plan import PlannedBoot, make_plan
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.history.document import document
from tests.unit.model_builders import benchmark, kernel
from tests.unit.run_builders import ended, stored

OPEN = benchmark("open", depth=1)


def run(path: Path, costs: dict[str, int], setups: tuple[str, ...]) -> RunData:
    """Return a run in which each kernel's selinux costs that much, and its baseline 1,000."""
    asked = build_experiment({"setups": [*setups], "boots": 2}, where="test")
    kernels = [
        replace(kernel(name), release=f"6.{at}", image_sha256=f"{at:064x}")
        for at, name in enumerate(costs)
    ]
    plan = make_plan(asked, kernels, (OPEN,), {}, ("tmpfs",))

    def samples(planned: PlannedBoot) -> Iterator[Samples]:
        own = planned.cell.setup.name == "selinux"
        cost = costs[planned.cell.kernel.name] if own else 1000
        yield Samples(OPEN.id, BenchmarkStatus.OK, (cost,) * 10)

    return stored(plan, path, lambda planned: (ended(planned, samples(planned)), {}))


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("a", "b"), "selinux: median +10.0 % on a, +20.0 % on b, over capability ("),
        (
            ("a", "b", "c", "d", "e"),
            "selinux: median +10.0 % on a, +50.0 % on e; +10.0 % to +50.0 % over 5 kernels, over",
        ),
    ],
)
def test_the_answer_names_the_ends(tmp_path: Path, names: tuple[str, ...], said: str) -> None:
    costs = {name: 1100 + 100 * at for at, name in enumerate(names)}
    (answer,) = document(run(tmp_path / "run", costs, ("capability", "selinux"))).answer
    assert answer.startswith(said)


def test_a_baseline_alone_is_no_history(tmp_path: Path) -> None:
    (answer,) = document(run(tmp_path / "run", {"a": 1000}, ("capability",))).answer
    assert answer == "Nothing was compared: no setup beside capability has a number."
