# SPDX-License-Identifier: GPL-2.0-or-later
"""What `run`, `report` and `compare` print first, and what --all adds, over recorded guests."""

from __future__ import annotations

import re

import pytest

from tests.cli.test_replay import FINE, measured
from tests.conftest import Lsmeter

ROW = re.compile(r"  depth=\d+ +[\d,]+")  # a variant with its count
HINT = "all benchmarks, whole costs, checks, layers: --all or -f html."


def test_a_run_prints_operations_and_with_all_every_benchmark(replay: Lsmeter) -> None:
    first = measured(replay, *FINE)
    assert first.code == 0, first.err
    assert "SELinux without a policy: median +" in first.out
    assert re.search(r"^open.* depth=2 \+\d+\.\d %: [\d,]+ → [\d,]+ instr", first.out, re.M)
    assert not ROW.search(first.out)
    assert HINT in " ".join(first.out.split())
    assert len(first.out.splitlines()) < 45
    second = measured(replay, *FINE, "--all")
    assert second.code == 0, second.err
    # A row of the overheads and one of the whole costs, for each of two variants of two operations.
    assert len(ROW.findall(second.out)) >= 8
    assert HINT not in " ".join(second.out.split())


@pytest.mark.parametrize("words", [("report", "run"), ("compare", "run", "run")])
@pytest.mark.parametrize("form", ["table", "text"])
def test_stored_runs_have_the_same_option(
    replay: Lsmeter,
    form: str,
    words: tuple[str, ...],
) -> None:
    assert measured(replay, *FINE).code == 0
    first, second = (replay(*words, "--format", form, *more) for more in ((), ("--all",)))
    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert not ROW.search(first.out)
    assert len(ROW.findall(second.out)) >= 8
    assert "Whole cost" not in first.out
    assert "Whole cost" in second.out


def test_formats_with_room_have_everything_anyway(replay: Lsmeter) -> None:
    assert measured(replay, *FINE).code == 0
    for form in ("markdown", "html", "csv", "json"):
        plain, everything = (
            replay("report", "run", "-f", form, *more) for more in ((), ("--all",))
        )
        assert plain.out == everything.out
        assert "not time" in plain.out
