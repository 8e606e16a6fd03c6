# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers that rules read, worked out of parts that are made up."""

from __future__ import annotations

import inspect
import math
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lsmeter.core.model import Benchmark, Metric, Place
from lsmeter.measure.results.directory import read_run
from lsmeter.questions.reproduce.facts import Facts
from lsmeter.questions.reproduce.parts import Part, Where
from lsmeter.questions.reproduce.quantities import MissingError, above, mean
from lsmeter.questions.workload.figures import KERNEL, Measured
from tests.unit.attribution.recorded import write_run
from tests.unit.run_builders import run_of
from tests.unit.tasks.sweep_builders import recorded_sweep, sweep_plan

_STATIC = Benchmark("web", "static", (("concurrency", 1),), Metric("count"), "", "")
RUN = Path(__file__).parents[3] / "examples" / "main.lsmeter"
_ROW = f"web/{_STATIC.id}"
_WHERE = Where("6.1", "tmpfs", "root")


def _measured(kernel: str, setup: str, *kernel_insns: float) -> Measured:
    boots = [
        SimpleNamespace(seed=seed, figures={KERNEL: insns}, hooks={}, calls={}, client={})
        for seed, insns in enumerate(kernel_insns)
    ]
    place = Place(kernel, setup, "web", "tmpfs", "root")
    return Measured(place, _STATIC, "request", cast("Any", boots))


def _facts(*measured: Measured, where: Where = _WHERE) -> Facts:
    """Return the functions of a part, whose kernels are named by their series."""
    part = SimpleNamespace(
        name="servers",
        workloads=SimpleNamespace(measured=measured),
        where=lambda place: where._replace(kernel=place.kernel.partition(":")[2].split("-")[0]),
        cells=(),
        run=SimpleNamespace(manifest=SimpleNamespace(problems=())),
    )
    part.row = partial(Part.row, cast("Part", part))
    return Facts({"servers": cast("Part", part)}, where, "servers")


@pytest.mark.parametrize("other", ["built:6.1-dac", "built:6.1-lsm-all"])
def test_the_interval_of_a_unit_is_as_wide_as_boots_are_apart_on_two_kernels_too(
    other: str,
) -> None:
    measured = [
        _measured("built:6.1-dac", "dac", 1000, 1010, 990),
        _measured(other, "capability", 1020, 1030, 1011),
    ]
    facts = _facts(*measured)
    found = facts.work("capability", "dac", f"web/{_STATIC.id}")
    assert found.low < found.value < found.high
    assert found.value == pytest.approx(2.03, abs=0.01)
    assert found.high - found.low < 1


def test_a_unit_costs_what_students_interval_says() -> None:
    found = _facts(_measured("built:6.1-dac", "dac", 1000, 1010, 990)).work_cost("dac", _ROW)
    assert found.value == 1000
    assert (found.low, found.high) == pytest.approx((975.16, 1024.84), abs=0.01)


def test_one_boot_gives_no_bounds_and_boots_that_agree_an_exact_number() -> None:
    alone = _facts(_measured("built:6.1-dac", "dac", 1000)).work_cost("dac", _ROW)
    assert (alone.value, alone.low, alone.high) == (1000, -math.inf, math.inf)
    assert above(alone, 1.0, strictly=True).holds is None
    exact = _facts(_measured("built:6.1-dac", "dac", 1000, 1000)).work_cost("dac", _ROW)
    assert (exact.low, exact.high) == (1000, 1000)


def test_numbers_of_another_place_are_named_with_it() -> None:
    measured = (_measured(f"debian:{series}", "dac", 1000, 1010) for series in ("6.1", "6.12"))
    work_cost = _facts(*measured).functions["work_cost"]
    own, other = work_cost("dac", _ROW, kernel="6.1"), work_cost("dac", _ROW, kernel="6.12")
    assert own.name == work_cost("dac", _ROW).name == f"{_ROW} dac"
    assert other.name == f"{_ROW} dac (6.12)"
    assert mean([other, own]).name == f"mean of {_ROW} dac (6.12) and 1 more"
    assert "of" in inspect.signature(work_cost).parameters, "rules are checked by it"


def test_a_number_of_another_part_is_named_with_it() -> None:
    facts = _facts(_measured("debian:6.1", "dac", 1000, 1010))
    facts = Facts({"web": facts._parts["servers"]}, _WHERE, "calls")
    found = facts.functions["work_cost"]("dac", _ROW, part="servers")
    assert found.name == f"{_ROW} dac (part servers)"


@pytest.mark.parametrize("of", [KERNEL, "all", "client:rate_per_s"])
def test_a_number_of_a_unit_says_of_which_figure_it_was_read(of: str) -> None:
    facts = _facts(
        _measured("debian:6.1", "dac", 1000, 1010), _measured("debian:6.1", "selinux", 1100, 1110)
    )
    assert facts.work_cost("dac", _ROW, of).of[0].of == of
    if of != "client:rate_per_s":
        assert facts.work("selinux", "dac", _ROW, of).of[0].of == of
        assert facts.scatter("dac", _ROW, of).of[0].of == of


def test_a_number_of_a_call_says_whether_it_was_read_of_the_whole_cycle() -> None:
    part = Part("calls", read_run(RUN))
    facts = Facts({"calls": part}, Where("6.1", "tmpfs", "root"), "calls")
    for whole in (0, 1):
        setups = ("selinux", "capability")
        for found in (
            facts.ov(*setups, "file/stat depth=1", whole=whole),
            facts.added(*setups, "file/stat depth=1", whole=whole),
            facts.cost("selinux", "file/stat depth=1", whole=whole),
        ):
            assert [source.whole for source in found.of] == [bool(whole)]


def test_what_hooks_add_to_a_call_is_of_its_own_suite(tmp_path: Path) -> None:
    """Benchmarks of two suites may have one name."""
    part = Part("traced", read_run(write_run(tmp_path / "run", "before")))
    (where,) = part.places()
    facts = Facts({"traced": part}, where, "traced")
    found = facts.in_hooks("smack", "capability", "file/stat depth=2")
    assert found.value > 0
    (source,) = found.of
    assert (source.tested.suite, source.tested.setup) == ("file", "smack")
    assert facts.in_hooks("smack", "capability", "file/stat depth=2", "no_hook").value == 0
    with pytest.raises(MissingError, match="ipc/stat depth=2: smack was not attributed"):
        facts.in_hooks("smack", "capability", "ipc/stat depth=2")


def test_a_slope_says_how_straight_its_line_is(tmp_path: Path) -> None:
    part = Part("slopes", run_of(sweep_plan(), tmp_path / "run", lambda _: recorded_sweep()))
    (where,) = part.places()
    facts = Facts({"slopes": part}, where, "slopes")
    assert facts.slope("file/open depth=8").value == pytest.approx(9, abs=0.001)
    assert 0.9999 < facts.r2("file/open depth=8").value <= 1
    assert facts.r2("file/open depth=8").of[0].tested.setup == "tunable"
    with pytest.raises(MissingError, match="getppid: its latency is the same at all delays"):
        facts.r2("file/getppid")
    with pytest.raises(MissingError, match="file/chmod depth=1: no slope on"):
        facts.r2("file/chmod depth=1")
