# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of a claim that does not hold: hooks, or why none is named."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from lsmeter.catalogue.studies.study import Claim
from lsmeter.core.model import Place
from lsmeter.questions.reproduce.causes import explain_claims
from lsmeter.questions.reproduce.judge import Judged, Verdict
from lsmeter.questions.reproduce.parts import Part
from lsmeter.questions.reproduce.quantities import Finding, Source

_CLAIM = Claim(
    id="c", claim="It is so.", place="page 1", kind="bound", printed="1 %", rule="1 < 2", part="p"
)
_BASE = Place("debian:6.1", "capability", "web", "tmpfs", "root")
_TESTED = Place("debian:6.1", "selinux-enforcing", "web", "tmpfs", "root")
_STATIC = "static concurrency=1"


def _judged(*of: Source, verdict: Verdict = Verdict.FAILS) -> Judged:
    finding = Finding(holds=False, text="1 is not > 2", distance=-1.0, of=of)
    return Judged("s", _CLAIM, verdict, decided=finding)


def _measured(place: Place, *boots: dict[str, tuple[float, float]]) -> SimpleNamespace:
    made = [SimpleNamespace(hooks=hooks) for hooks in boots]
    return SimpleNamespace(place=place, benchmark=SimpleNamespace(id=_STATIC), boots=made)


def _parts() -> dict[str, Part]:
    measured = [
        _measured(_BASE, {"file_open": (1, 100), "path_mkdir": (1, 5)}),
        _measured(_TESTED, {"file_open": (1, 300)}, {"file_open": (1, 500), "inode_link": (1, 2)}),
    ]
    part = SimpleNamespace(workloads=SimpleNamespace(measured=measured))
    return {"p": cast("Any", part)}


def test_hooks_of_a_workload_are_named_by_what_a_unit_pays() -> None:
    source = Source("p", f"web/{_STATIC}", _TESTED, _BASE)
    (found,) = explain_claims([_judged(source)], [], _parts())
    where = f"web/{_STATIC} selinux-enforcing over capability"
    hooks = "file_open +300, path_mkdir -5, inode_link +1"
    assert found.causes == (f"{where}: instructions of a unit in hooks: {hooks}",)


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ((), "no measured row decided"),
        ((Source("p", f"web/{_STATIC}", _TESTED),), "what decided is no overhead"),
        ((Source("p", "file/open depth=1", _TESTED, _BASE),), "no call tree of both sides"),
    ],
)
def test_a_claim_without_a_cause_says_why(sources: tuple[Source, ...], said: str) -> None:
    (found,) = explain_claims([_judged(*sources)], [], _parts())
    assert found.causes == (f"no hook is named: {said}",)


def test_a_claim_that_holds_needs_no_cause() -> None:
    (found,) = explain_claims([_judged(verdict=Verdict.HOLDS)], [], {})
    assert found.causes == ()
