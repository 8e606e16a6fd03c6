# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole costs taken apart: what is left, and calls that are measured alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lsmeter.core.model import Benchmark
from lsmeter.core.model.conclusion import Estimate
from lsmeter.questions.cost import parts
from lsmeter.questions.cost.grids import Grid, Group, Row
from tests.unit.model_builders import benchmark
from tests.unit.report import builders


def cycle(operation: str, calls: str, **params: Any) -> Benchmark:
    return replace(benchmark(operation, **params), cycle=calls)


OPEN = cycle("open", "open+close", depth=1)
CLOSE = cycle("close", "open+close", after="open")
CREAT = cycle("creat", "creat+close+unlink", depth=1)
AFTER_CREAT = cycle("close", "open+close+unlink", after="creat")
UNLINK = cycle("unlink", "open+close+unlink", depth=1)
DEEPER = cycle("unlink", "open+close+unlink", depth=2)
RENAME = cycle("rename", "rename+rename", depth=1)
SYMLINK = cycle("symlink", "symlink+unlink", depth=1)
MKDIR = cycle("mkdir", "mkdir+rmdir", depth=1)
RMDIR = cycle("rmdir", "mkdir+rmdir", depth=1)
STAT = cycle("stat", "stat", depth=1)


def estimates(**more: float) -> dict[str, Estimate]:
    """Return estimates of 1,000 instructions each, and whole costs with 300 left."""
    kinds = (OPEN, CLOSE, CREAT, AFTER_CREAT, UNLINK, DEEPER, RENAME, SYMLINK, MKDIR, RMDIR, STAT)
    whole = replace(builders.whole_cost(2500), deferred=300.0)
    found = {}
    for number, kind in enumerate(kinds):
        one = builders.estimate(kind, "capability", 1000 + 10 ** (number % 3))
        found[kind.id] = replace(one, whole=whole)
    return found


@pytest.mark.parametrize(
    ("kind", "calls"),
    [
        (OPEN, (OPEN, CLOSE)),
        (RENAME, (RENAME, RENAME)),
        (CREAT, (CREAT, AFTER_CREAT, UNLINK)),
        (MKDIR, (MKDIR, RMDIR)),
        (RMDIR, (MKDIR, RMDIR)),
    ],
)
def test_the_sum_of_the_calls_stands_beside(kind: Benchmark, calls: tuple[Benchmark, ...]) -> None:
    known = estimates()
    whole, left, total, rest = (item.value for item in parts._parts(known[kind.id], known))
    assert (whole, left) == (2500, 300)
    assert total == sum(known[call.id].centre for call in calls)
    assert rest == 2500 - 300 - total


@pytest.mark.parametrize(
    ("kind", "missing"),
    [(SYMLINK, "unlink"), (UNLINK, "open, close"), (CLOSE, "open"), (AFTER_CREAT, "open, unlink")],
)
def test_what_is_not_measured_alone_is_named(kind: Benchmark, missing: str) -> None:
    """An unlink of a file is none of a link, and an open that makes a file none of one that is."""
    known = estimates()
    _, left, calls, rest = parts._parts(known[kind.id], known)
    assert (left.value, calls, rest) == (300, f"not alone: {missing}", None)


def test_cycles_of_one_call_are_not_taken_apart() -> None:
    known = estimates()
    report = builders.report()
    rows = tuple(Row(item.benchmark, item, ()) for item in known.values())
    place = known[STAT.id].place
    grid = Grid(place, "", "capability", (), (Group("all", rows),))
    found = parts.table(report, grid)
    assert found is not None
    heads = [row[0] for row in found.rows if len(row) == 1]
    assert "open depth=1: open+close" in heads
    assert not any("stat" in str(head) for head in heads)
    only = Grid(place, "", "capability", (), (Group("stat", rows[-1:]),))
    assert parts.table(report, only) is None
