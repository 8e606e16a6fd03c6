# SPDX-License-Identifier: GPL-2.0-or-later
"""One batch, window, boot or reading has no spread and no interval, and no text says it has."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lsmeter.core.model import Boot
from lsmeter.core.model.conclusion import Verdict
from lsmeter.measure.results.directory import read_run
from lsmeter.questions.cells.covers import left_out, once_in
from lsmeter.questions.cost.document import document_of
from lsmeter.questions.workload import document as shown
from lsmeter.questions.workload.figures import BootFigures, Compared, Measured, Workloads
from lsmeter.statistics.compare import compare
from lsmeter.statistics.estimate import BootReadings, rarest
from lsmeter.statistics.means import compare_ratios, pooled, pooled_ratios
from lsmeter.tables import numbers
from lsmeter.tables.model import Detail
from lsmeter.tables.render import render
from tests.statistics.simulated import boot, cycle_cost
from tests.unit.model_builders import benchmark, change
from tests.unit.report import builders

STATIC = benchmark("static", suite="web", concurrency=1)


def measured(setup: str, *kernel: float, spread: float | None = None) -> Measured:
    boots = [
        BootFigures(seed, {"kernel": value}, {}, {}, spread, {}, units=40)
        for seed, value in enumerate(kernel)
    ]
    return Measured(builders.place(setup), STATIC, "request", boots)


def workloads(base: Measured, item: Measured) -> tuple[Workloads, Compared]:
    ratio = [b / a for a, b in zip(base.of("kernel"), item.of("kernel"), strict=True)]
    found = compare_ratios(base.mean("kernel"), ratio, pooled_ratios([ratio]), 0.01)
    assert found is not None
    compared = Compared(base, item, found, None)
    key = (base.place.beside, STATIC.id)
    spreads = {key: pooled([base.of("kernel"), item.of("kernel")])}
    return Workloads((base, item), (), (compared,), spreads, ()), compared


def test_one_batch_has_no_spread() -> None:
    base, item = measured("capability", 132_577, 132_590), measured("selinux", 144_235, 144_250)
    said = shown._spread(workloads(base, item)[0], [base, item])
    assert "0.00 %" not in said
    assert "one batch a boot: how far batches lie apart is not known" in said
    more = [replace(each, spread=0.0037) for each in base.boots]
    said = shown._spread(workloads(base, item)[0], [replace(base, boots=more), item])
    assert "batches of a boot: at most 0.37 % apart" in said


@pytest.mark.parametrize(("calls", "share"), [(1_000.0, ""), (1_040.0, ""), (640.0, "-36.0 %")])
def test_a_guest_that_did_different_work_is_told_of(calls: float, share: str) -> None:
    """FTP of 1 GiB was -15 % under SELinux: 45 % fewer segments came in."""
    base, item = measured("capability", 132_577, 132_590), measured("selinux", 144_235, 144_250)
    for each, count in ((base, 1_000.0), (item, calls)):
        hooks = {"sock_rcv_skb": (count - 10, 5.0), "file_permission": (10.0, 9.0)}
        each.boots[:] = [
            replace(boot, hooks=hooks, figures={**boot.figures, "hook calls": count})
            for boot in each.boots
        ]
    said = [text.text for text in shown._doubts([workloads(base, item)[1]])]
    told = f"hook calls {share}, sock_rcv_skb 990 to {calls - 10:.0f} a request"
    assert [told in text for text in said] == [True] * bool(share)


def test_one_boot_of_a_service_has_no_interval() -> None:
    found, compared = workloads(measured("capability", 132_577), measured("selinux", 144_235))
    assert numbers.PLUS_MINUS not in shown._cell(compared).text
    assert "not known from one boot" in shown._spread(found, found.measured)


def test_services_that_are_equal_say_what_that_leaves_out() -> None:
    _, same = workloads(measured("capability", 1000, 1000), measured("bpf", 1000, 1000))
    assert same.kernel.verdict is Verdict.EQUIVALENT
    (said,) = shown._left_out([same])
    assert f"rarer than once in {rarest(80)} units" in said


@pytest.mark.parametrize("windows", [1, 2, 3])
def test_one_window_has_no_spread(windows: int) -> None:
    sides = [[shortened(boot(seed, noise_insns=9000), windows)] for seed in (1, 2)]
    found = compare(sides[0], sides[1], 0.0001)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert ("windows of boot" in found.cause) == (windows > 1)
    assert (found.whole is None) == (windows == 1)


@pytest.mark.parametrize("tested", [1001, 1006, 1400])
def test_one_reading_decides_nothing(tested: int) -> None:
    one, other = (BootReadings(1, np.array([value], dtype=np.int64)) for value in (1000, tested))
    found = compare([one], [other], 0.01, calls=False)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.typical is None or not math.isfinite(found.typical.low)
    before, after = ([item, replace(item, boot=2)] for item in (one, other))
    wanted = Verdict.SLOWER if tested > 1010 else Verdict.EQUIVALENT
    assert compare(before, after, 0.01, calls=False).verdict is wanted


def shortened(made: BootReadings, windows: int) -> BootReadings:
    """Return the boot with the first windows alone, a whole and a short one in turn."""
    assert made.whole is not None
    whole = replace(made.whole, rounds=made.whole.rounds[:windows])
    return replace(made, whole=whole, cycle=cycle_cost(whole))


def test_a_single_number_is_written_without_an_interval() -> None:
    alone = change(100, 130, math.inf)
    assert numbers.amount(alone) == "+30"
    assert numbers.level(100, -math.inf, math.inf) == "100"
    assert numbers.amount(change(100, 130, 4)) == "+30 \N{PLUS-MINUS SIGN}4"


def test_what_equivalent_leaves_out_is_computed_from_the_run() -> None:
    rare = 1 / rarest(2000)
    assert (1 - rare) ** 2000 == pytest.approx(0.01, rel=0.02)
    report = builders.report(setups=("capability", "bpf"))
    name = replace(builders.comparison(builders.benchmark("open", name=60), "bpf", 3, 3), cycles=90)
    said = left_out((*report.comparisons, name), report.words)
    assert f"once in {once_in([90])} to {once_in([2000])} cycles" in said
    assert "of longer names (of open: than 60 characters)" in said
    for words in ("of a process's first calls", "of further CPUs"):
        assert words in said
    slower = [item for item in report.comparisons if item.verdict is Verdict.SLOWER]
    assert left_out(slower, report.words) == ""
    (text,) = {builders.render(report, "text")}
    assert "Equivalent leaves out costs rarer than once in" in " ".join(text.split())


def test_a_cost_that_may_be_missed_is_rarer_than_what_is_said() -> None:
    """Of costs once in N cycles, 99 % of runs meet one."""
    draw = np.random.default_rng(1)
    cycles = 4000
    met = (draw.random((2000, cycles)) < 1 / rarest(cycles)).any(axis=1).mean()
    assert met >= 0.98


EXEC = Path(__file__).parents[2] / "data" / "stored" / "0.1.0" / "exec.lsmeter"


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("lost", ["true", "true part=all", "true part=user"])
def test_a_command_without_one_of_its_numbers_is_reported(lost: str, *, empty: bool) -> None:
    """Boots come from elsewhere as well: what is gone has no number, and no traceback."""

    def altered(boot: Boot) -> Boot:
        left = [item for item in boot.samples if item.benchmark != lost]
        gone = [replace(item, values=()) for item in boot.samples if item.benchmark == lost]
        return replace(boot, samples=(*left, *(gone if empty else ())))

    run = read_run(EXEC)
    for boots in (map(altered, run.boots), (altered(run.boots[0]), *run.boots[1:])):
        changed = replace(run, boots=tuple(boots))
        for detail in Detail:
            assert "nan" not in render(document_of(changed)(detail), "text").split()
