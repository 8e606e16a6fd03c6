# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows behind claims: the figure that a rule read, its cost, and over which baseline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lsmeter.catalogue.studies.study import Claim
from lsmeter.core.model import Place
from lsmeter.questions.reproduce import evidence
from lsmeter.questions.reproduce.judge import Judged, Verdict
from lsmeter.questions.reproduce.parts import Part, Where
from lsmeter.questions.reproduce.quantities import Finding, Quantity, Source
from lsmeter.questions.reproduce.rows import find_rows

_CLAIM = Claim(
    id="c", claim="It is so.", place="page 1", kind="bound", printed="1 %", rule="1 < 2", part="p"
)
_BASE = Place("debian:6.1", "capability", "web", "tmpfs", "root")
_TESTED = replace(_BASE, setup="selinux")
_WEB, _OPEN = "web/static concurrency=1", "file/open depth=1"


def _shown(source: Source) -> tuple[list[str], list[Any]]:
    """Return the calls by which a row was read, and its cells."""
    calls: list[str] = []

    def function(name: str) -> Callable[..., Quantity]:
        def read(*words: object, **at: object) -> Quantity:
            calls.append(" ".join(map(str, (name, *words, *(f"{k}={at[k]}" for k in at)))))
            return Quantity(2.5, 2.5, 2.5, "%" if name in {"ov", "work"} else "")

        return read

    part = SimpleNamespace(
        name="p",
        where=lambda place: Where("6.1", place.filesystem, place.user),
        run=SimpleNamespace(manifest=SimpleNamespace(cells=())),
    )
    functions = {name: function(name) for name in ("ov", "work", "cost", "work_cost")}
    known = {("p", Where("6.1", "tmpfs", user)): functions for user in ("root", "user")}
    decided = Finding(holds=False, text="", of=(source,))
    judged = Judged(_CLAIM, Verdict.FAILS, decided=decided)
    found = find_rows({"p": cast("Part", part)}, known, [judged])
    item = SimpleNamespace(study=SimpleNamespace(name="s"), rows=found, boots=())
    (section,) = evidence.sections(cast("Any", item))
    _, row = section.tables[0].rows  # below the claim's own
    return calls, list(row)


@pytest.mark.parametrize(
    ("of", "said"),
    [
        ("kernel", _WEB),
        ("all", f"{_WEB} (all instructions)"),
        ("client:rate_per_s", f"{_WEB} (client:rate_per_s)"),
    ],
)
def test_a_row_of_a_workload_is_of_the_figure_that_was_read(of: str, said: str) -> None:
    calls, cells = _shown(Source("p", _WEB, _TESTED, _BASE, of))
    assert set(calls) == {
        f"work_cost selinux {_WEB} {of}",
        f"work_cost capability {_WEB} {of}",
        f"work selinux capability {_WEB} {of}",
    }
    assert cells[:3] == [said, "selinux", "capability"]
    assert [cell.text for cell in cells[5:7]] == ["2.500", "2.500"]


def test_a_row_of_a_whole_cycle_is_of_the_whole_cycle() -> None:
    calls, cells = _shown(Source("p", _OPEN, _TESTED, _BASE, whole=True))
    assert set(calls) == {
        f"cost selinux {_OPEN} whole=1",
        f"cost capability {_OPEN} whole=1",
        f"ov selinux capability {_OPEN} whole=1",
    }
    assert cells[0] == f"{_OPEN} (whole cycle)"


def test_a_row_over_another_user_compares_no_cell_with_itself() -> None:
    calls, cells = _shown(Source("p", _OPEN, _TESTED, replace(_TESTED, user="user")))
    assert f"ov selinux selinux {_OPEN} base_user=user" in calls
    assert cells[1:5] == ["selinux", "selinux (user)", "debian:6.1", "tmpfs, root"]
