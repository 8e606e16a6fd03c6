# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of a claim that does not hold: hooks, or why none is named."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lsmeter.catalogue.studies.study import Claim
from lsmeter.core.model import Benchmark, Metric, Place
from lsmeter.measure.tasks.count import Count
from lsmeter.questions.attribution.load import load_run
from lsmeter.questions.hooks.count import Counts
from lsmeter.questions.reproduce.causes import explain_claims
from lsmeter.questions.reproduce.judge import Judged, Verdict
from lsmeter.questions.reproduce.parts import Part
from lsmeter.questions.reproduce.quantities import Finding, Source
from lsmeter.questions.workload.figures import Measured
from tests.unit.attribution.recorded import write_run

_CLAIM = Claim(
    id="c", claim="It is so.", place="page 1", kind="bound", printed="1 %", rule="1 < 2", part="p"
)
_BASE = Place("debian:6.1", "capability", "web", "tmpfs", "root")
_TESTED = Place("debian:6.1", "selinux-enforcing", "web", "tmpfs", "root")
_STATIC = "static concurrency=1"
_OPENED = Place("debian:6.1", "selinux", "file", "tmpfs", "root")
_OPEN = Benchmark("file", "open", (("depth", 1),), Metric("latency"), "", "")
_RUNS = tuple(
    Count(_OPENED, _OPEN, name, runs, steady=True)
    for name, runs in (("inode_permission", 2), ("file_open", 1))
)


def _judged(*of: Source, verdict: Verdict = Verdict.FAILS) -> Judged:
    finding = Finding(holds=False, text="1 is not > 2", distance=-1.0, of=of)
    return Judged(_CLAIM, verdict, decided=finding)


def _measured(place: Place, *boots: dict[str, tuple[float, float]]) -> Measured:
    made = [SimpleNamespace(hooks=hooks) for hooks in boots]
    benchmark = SimpleNamespace(id=_STATIC)
    return Measured(place, cast("Any", benchmark), "request", cast("Any", made))


def _parts() -> dict[str, Part]:
    measured = [
        _measured(_BASE, {"file_open": (1, 100), "path_mkdir": (1, 5)}),
        _measured(_TESTED, {"file_open": (1, 300)}, {"file_open": (1, 500), "inode_link": (1, 2)}),
    ]
    counts = Counts((), ((_OPENED, _OPEN),), _RUNS, ())
    part = SimpleNamespace(workloads=SimpleNamespace(measured=measured), counts=counts)
    return {"p": cast("Any", part)}


def test_hooks_of_a_workload_are_named_by_what_a_unit_pays() -> None:
    source = Source("p", f"web/{_STATIC}", _TESTED, _BASE)
    both = replace(source, of="kernel"), replace(source, of="all")
    (found,) = explain_claims([_judged(*both)], [], _parts())
    where = f"web/{_STATIC} selinux-enforcing over capability"
    hooks = "file_open +300, path_mkdir -5, inode_link +1"
    assert found.causes == (f"{where}: instructions of a unit in hooks: {hooks}",)


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ((), "what decided is no cost of a row"),
        (
            (Source("p", f"web/{_STATIC}", _TESTED),),
            "what decided is no overhead of a setup, and no hooks were counted",
        ),
        ((Source("p", "file/open depth=1", _TESTED, _BASE),), "no call tree of both sides"),
        # Hooks say nothing of what is no instruction of the kernel.
        *(
            (
                (Source("p", f"web/{_STATIC}", _TESTED, base, of),),
                "what decided is no cost of a row",
            )
            for base in (_BASE, None)
            for of in ("user", "client:rate_per_s")
        ),
    ],
)
def test_a_claim_without_a_cause_says_why(sources: tuple[Source, ...], said: str) -> None:
    (found,) = explain_claims([_judged(*sources)], [], _parts())
    assert found.causes == (f"no hook is named: {said}",)


def test_hooks_are_counted_of_what_compares_no_setups() -> None:
    slope = Source("p", "file/open depth=1", replace(_OPENED, setup="delays", user="user"))
    (found,) = explain_claims([_judged(slope)], [], _parts())
    hooks = "inode_permission 2, file_open 1"
    assert found.causes == (f"file/open depth=1 selinux: runs of hooks in a call: {hooks}",)


def test_a_place_that_two_runs_attribute_is_explained_by_the_one_that_has_the_row(
    tmp_path: Path,
) -> None:
    _, cells, _ = load_run(write_run(tmp_path / "run", "before"))
    base, tested = (
        next(item for item in cells if item.cell.place.setup == setup)
        for setup in ("capability", "smack")
    )
    source = Source("p", "file/stat depth=2", tested.cell.place, base.cell.place)
    other = replace(tested, values={}, readings={}, kept={})
    (found,) = explain_claims([_judged(source)], [*cells, other], {})
    assert "file/stat depth=2 smack over capability: +" in found.causes[0]
    assert "security_inode_permission" in found.causes[0]
    assert "the path walk leaves RCU mode" in found.causes[0]


def test_causes_on_two_kernels_name_them(tmp_path: Path) -> None:
    _, cells, _ = load_run(write_run(tmp_path / "run", "before"))
    every = [
        replace(item, cell=replace(item.cell, place=replace(item.cell.place, kernel=kernel)))
        for item in cells
        for kernel in ("debian:6.1", "debian:6.12")
    ]
    places = {(item.cell.place.setup, item.cell.place.kernel): item.cell.place for item in every}
    sources = [
        Source("p", "file/stat depth=2", places["smack", kernel], places["capability", kernel])
        for kernel in ("debian:6.1", "debian:6.12")
    ]
    (found,) = explain_claims([_judged(*sources)], every, {})
    assert [" on debian:6.1:" in found.causes[0], " on debian:6.12:" in found.causes[1]] == [
        True
    ] * 2


def test_two_sides_that_execute_the_same_are_said_to(tmp_path: Path) -> None:
    _, cells, _ = load_run(write_run(tmp_path / "run", "before"))
    places = {item.cell.place.setup: item.cell.place for item in cells}
    source = Source("p", "file/getppid", places["smack"], places["capability"])
    (found,) = explain_claims([_judged(source)], cells, {})
    said = "nothing is added: both execute the same instructions"
    assert found.causes == (f"file/getppid smack over capability: {said}",)


def test_an_overhead_is_not_explained_by_counts() -> None:
    source = Source("p", "file/open depth=1", _OPENED, replace(_OPENED, setup="capability"))
    (found,) = explain_claims([_judged(source)], [], _parts())
    assert found.causes == ("no hook is named: no call tree of both sides",)


def test_a_claim_that_holds_needs_no_cause() -> None:
    (found,) = explain_claims([_judged(verdict=Verdict.HOLDS)], [], {})
    assert found.causes == ()


def test_what_no_cause_explains_outside_of_hooks_names_a_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lsmeter.questions.attribution.explain.find_causes", lambda _: ())
    _, cells, _ = load_run(write_run(tmp_path / "run", "before"))
    places = {item.cell.place.setup: item.cell.place for item in cells}
    source = Source("p", "file/stat depth=2", places["smack"], places["capability"])
    (found,) = explain_claims([_judged(source)], cells, {})
    assert re.search(r"outside of hooks [+-]\d+ \(most in \w+ [+-]\d+\)$", found.causes[0])
