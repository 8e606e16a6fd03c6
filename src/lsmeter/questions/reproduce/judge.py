# SPDX-License-Identifier: GPL-2.0-or-later
"""Each claim of a study against what was measured: a verdict, and the number that decided; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from lsmeter.catalogue.studies.shown import Placed
from lsmeter.catalogue.studies.study import Claim, Study
from lsmeter.questions.reproduce import quantities
from lsmeter.questions.reproduce.facts import Facts
from lsmeter.questions.reproduce.parts import Part, Where
from lsmeter.questions.reproduce.quantities import Finding
from lsmeter.questions.reproduce.rules import Evaluation, Rule, RuleError

Known = Mapping[tuple[str, Where], Mapping[str, Callable[..., Any]]]
_NOWHERE = Where("", "", "")


class Verdict(StrEnum):
    """What is said of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold today"
    OPEN = "cannot be told"
    INCOMPARABLE = "not comparable"


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict: by place, and over all of them.

    A claim holds that holds at every place, and does not that fails at one. decided is the finding
    that decided, at `where`; why says why a claim is open, or what of one that holds
    --quick left out. causes are what attribution says of it.
    """

    claim: Claim
    verdict: Verdict
    found: Mapping[Where, Finding] = field(default_factory=dict)
    decided: Finding | None = None
    where: Where = _NOWHERE
    why: str = ""
    causes: tuple[str, ...] = ()


def known_facts(
    study: Study,
    parts: Mapping[str, Part],
    source: Callable[[str], Mapping[str, Mapping[str, float | None]]] | None = None,
) -> Known:
    """Return the functions that read rows, at each place of each part.

    source gives counts of a kernel's source by its series.
    """
    printed = {table.name: table for table in study.tables}
    return {
        (name, where): Facts(parts, where, name, printed, source).functions
        for name, part in parts.items()
        for where in part.places()
    }


def judge(
    study: Study,
    rules: Mapping[str, Rule],
    known: Known,
    failed: Mapping[str, str],
    only: Sequence[str] = (),
) -> tuple[Judged, ...]:
    """Judge the claims of a study, or some, by rules that were read (by claim).

    failed says of a part why it has no run.
    """
    chosen = [claim for claim in study.claims if not only or claim.id in only]
    return tuple(_judge(study, claim, rules.get(claim.id), known, failed) for claim in chosen)


def _judge(
    study: Study,
    claim: Claim,
    rule: Rule | None,
    known: Known,
    failed: Mapping[str, str],
) -> Judged:
    if rule is None:
        verdict = Verdict.OPEN if claim.cannot else Verdict.INCOMPARABLE
        return Judged(claim, verdict, why=claim.cannot or claim.incomparable)
    if claim.part in failed:
        why = f"part {claim.part}: {failed[claim.part]}"
        return Judged(claim, Verdict.OPEN, why=why)
    found: dict[Where, Finding] = {}
    for where in places_of(claim, known):
        try:
            found[where] = Evaluation(known[claim.part, where], study.lists).find(rule)
        except RuleError as error:  # what was measured stays, and so do the other claims
            found[where] = quantities.unknown(f"{study.where(claim)}: {error}")
    return conclude(claim, found)


def places_of(item: Claim | Placed, known: Known) -> Iterator[Where]:
    """Yield the places of its part that a claim, a table or a plot is of."""
    asked = (item.kernels, item.filesystems, item.users)
    for part, where in known:
        pairs = zip(where, asked, strict=True)
        if part == item.part and all(not names or own in names for own, names in pairs):
            yield where


def conclude(claim: Claim, found: Mapping[Where, Finding]) -> Judged:
    """Return the verdict over all places, and which of them decided."""
    decided = quantities.every(found.values())
    verdict = {True: Verdict.HOLDS, False: Verdict.FAILS, None: Verdict.OPEN}[decided.holds]
    said = (decided.text, decided.of)
    where = next((at for at, item in found.items() if (item.text, item.of) == said), _NOWHERE)
    why = decided.why if verdict is Verdict.OPEN else ""
    if not found:
        why = "none of the places that it is of was measured"
    return Judged(claim, verdict, found, decided, where, why)


def exclusive(judged: Sequence[Judged]) -> Iterator[tuple[Judged, Judged]]:
    """Yield the pairs of claims of a study that exclude each other, each once."""
    by_id = {item.claim.id: item for item in judged}
    for item in judged:
        for other in item.claim.against:
            found = by_id.get(other)
            if found and (item.claim.id < other or item.claim.id not in found.claim.against):
                yield item, found
