# SPDX-License-Identifier: GPL-2.0-or-later
"""Each claim of a study against what was measured: a verdict, and the number that decided; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from lsmeter.catalogue.studies.study import Claim, Study
from lsmeter.questions.reproduce import quantities
from lsmeter.questions.reproduce.checks import wrong_rule
from lsmeter.questions.reproduce.facts import Facts
from lsmeter.questions.reproduce.parts import Part, Where
from lsmeter.questions.reproduce.quantities import Finding
from lsmeter.questions.reproduce.rules import Evaluation, Rule, RuleError

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
    that decided, at `where`; why says why a claim is open. causes are what attribution says of it.
    """

    study: str
    claim: Claim
    verdict: Verdict
    found: Mapping[Where, Finding] = field(default_factory=dict)
    decided: Finding | None = None
    where: Where = _NOWHERE
    why: str = ""
    causes: tuple[str, ...] = ()


def judge(
    study: Study,
    rules: Mapping[str, Rule],
    parts: Mapping[str, Part],
    failed: Mapping[str, str],
    source: Callable[[str], Mapping[str, Mapping[str, float]]] | None = None,
    only: Sequence[str] = (),
) -> tuple[Judged, ...]:
    """Judge the claims of a study, or some, by rules that were read (by claim).

    failed says of a part why it has no run.
    """
    every = {
        (name, where): Facts(
            parts, where, name, {table.name: table for table in study.tables}, source
        )
        for name, part in parts.items()
        for where in part.places()
    }
    chosen = [claim for claim in study.claims if not only or claim.id in only]
    return tuple(_judge(study, claim, rules.get(claim.id), every, failed) for claim in chosen)


def _judge(
    study: Study,
    claim: Claim,
    rule: Rule | None,
    every: Mapping[tuple[str, Where], Facts],
    failed: Mapping[str, str],
) -> Judged:
    if rule is None:
        verdict = Verdict.OPEN if claim.cannot else Verdict.INCOMPARABLE
        return Judged(study.name, claim, verdict, why=claim.cannot or claim.incomparable)
    if claim.part in failed:
        why = f"part {claim.part}: {failed[claim.part]}"
        return Judged(study.name, claim, Verdict.OPEN, why=why)
    found: dict[Where, Finding] = {}
    for (part, where), facts in every.items():
        if part == claim.part and _is_meant(claim, where):
            try:
                found[where] = Evaluation(facts.functions, study.lists).find(rule)
            except RuleError as error:
                raise wrong_rule(study, claim, error) from None
    return _concluded(study.name, claim, found)


def _is_meant(claim: Claim, where: Where) -> bool:
    asked = (claim.kernels, claim.filesystems, claim.users)
    return all(not names or own in names for own, names in zip(where, asked, strict=True))


def _concluded(study: str, claim: Claim, found: Mapping[Where, Finding]) -> Judged:
    decided = quantities.every(found.values())
    verdict = {True: Verdict.HOLDS, False: Verdict.FAILS, None: Verdict.OPEN}[decided.holds]
    where = next((at for at, item in found.items() if item is decided), _NOWHERE)
    why = decided.why if verdict is Verdict.OPEN else ""
    if not found:
        why = "none of the places that it is of was measured"
    return Judged(study, claim, verdict, found, decided, where, why)


def count_verdicts(judged: Sequence[Judged]) -> dict[Verdict, int]:
    """Return how many claims have each verdict."""
    return {verdict: sum(item.verdict is verdict for item in judged) for verdict in Verdict}


def exclusive(judged: Sequence[Judged]) -> Iterator[tuple[Judged, Judged]]:
    """Yield the pairs of claims of a study that exclude each other, each once."""
    by_id = {(item.study, item.claim.id): item for item in judged}
    for item in judged:
        for other in item.claim.against:
            found = by_id.get((item.study, other))
            if found and (item.claim.id < other or item.claim.id not in found.claim.against):
                yield item, found
