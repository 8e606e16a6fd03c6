# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lsmeter.cli.console import SCREEN
from lsmeter.cli.history import show
from lsmeter.history import ALL, MISSING, as_data, make_history, plot, rows_of, version_key
from lsmeter.report.model import KernelFacts, Report
from tests.unit.report import builders


def report() -> Report:
    """Build the same overheads on a new and on an old kernel, in this order."""
    one = builders.report()
    names = {"new": "6.12.9-cloud", "old": "6.1.100-cloud"}
    kernel = one.comparisons[0].kernel
    return replace(
        one,
        kernels=tuple(KernelFacts(name, r, "", "", "", "pvh") for name, r in names.items()),
        comparisons=tuple(
            replace(item, kernel=name)
            for name in names
            for item in one.comparisons
            if item.kernel == kernel
        ),
    )


@pytest.mark.parametrize(
    ("older", "newer"), [("6.1.100", "6.12.9"), ("6.1.9-2", "6.1.10-1"), ("5.3", "5.3.1")]
)
def test_kernels_are_ordered_by_version(older: str, newer: str) -> None:
    assert version_key(older) < version_key(newer)


def test_the_oldest_kernel_comes_first() -> None:
    assert make_history(report()).kernels == ("old", "new")


def test_the_median_is_that_of_the_variants_without_the_controls() -> None:
    made = make_history(report())
    point = made.find("old", made.setups[0], ALL)
    assert point is not None
    of_setup = [
        item
        for item in report().comparisons
        if item.kernel == "old" and item.setup == made.setups[0] and not item.benchmark.control
    ]
    assert point.benchmarks == len(of_setup)
    assert min(i.overhead for i in of_setup) <= point.median <= max(i.overhead for i in of_setup)
    assert not {"empty", "getppid"} & set(made.operations)


def test_rows_have_a_cell_for_each_kernel() -> None:
    made = make_history(report())
    for setup in made.setups:
        assert all(len(cells) == 2 for _, cells in rows_of(made, setup))


def test_what_was_not_measured_is_a_mark() -> None:
    whole = report()
    comparisons = tuple(i for i in whole.comparisons if (i.kernel, i.setup) != ("new", "selinux"))
    made = make_history(replace(whole, comparisons=comparisons))
    assert {cells[1] for _, cells in rows_of(made, "selinux")} == {MISSING}


def test_data_and_plot_are_json() -> None:
    made = make_history(report())
    assert json.loads(json.dumps(as_data(made)))["points"]
    assert json.dumps(plot(made))


def test_a_heading_is_as_wide_as_the_terminal_not_as_its_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(SCREEN.out, "width", 100)
    show(make_history(report()), "table", None)
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert len(first) > 60
    assert "instrument" in second or "instrument" in first


def test_long_names_of_kernels_leave_operations_and_numbers_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(SCREEN.out, "width", 80)
    one = report()
    long = {kernel.name: f"built:{kernel.name}-lsm-all-tunable-and-more" for kernel in one.kernels}
    made = make_history(
        replace(
            one,
            kernels=tuple(replace(kernel, name=long[kernel.name]) for kernel in one.kernels),
            comparisons=tuple(replace(item, kernel=long[item.kernel]) for item in one.comparisons),
        )
    )
    show(made, "table", None)
    printed = capsys.readouterr().out
    assert all(len(line) <= 80 for line in printed.splitlines())
    for operation, cells in rows_of(made, made.setups[0]):
        assert any(
            operation in line and all(cell in line for cell in cells)
            for line in printed.splitlines()
        )
