# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies that can be reproduced, and what one of them claims, as lists; pure."""

from __future__ import annotations

from lsmeter.catalogue.studies.study import Claim, Study, find_study, study_names
from lsmeter.tables.fields import Field, named, tabled
from lsmeter.tables.model import Document, Item, Kind, Section

_MINUTES = "min: about, on two cores, once kernels and images are built; what is measured is kept."


def list_studies() -> Document:
    """Return all studies: how many parts and claims each has, and how many have a rule."""
    studies = [find_study(name) for name in study_names()]
    fields = (
        named("study", "name"),
        Field("parts", "parts", lambda study: len(study.parts)),
        Field("claims", "claims", lambda study: len(study.claims)),
        Field("rules", "rules", lambda study: sum(bool(c.rule) for c in study.claims)),
        Field("minutes", "min", lambda study: study.minutes or None),
        Field("quick_minutes", "--quick", lambda study: study.quick_minutes or None),
        Field("title", "title", "title", Kind.PROSE),
    )
    table = tabled("studies", "", fields, studies, more=(_MINUTES,))
    return Document("lsmeter-studies", 1, "Studies", sections=(Section("", tables=(table,)),))


def list_claims(study: Study) -> Document:
    """Return the parts of a study, and its claims with their rules."""
    parts = tuple(Item(f"{name}: {keys.get('title', '')}") for name, keys in study.parts.items())
    fields = (
        named("claim", "id"),
        named("kind"),
        Field("printed", "printed", "printed", Kind.PROSE),
        Field("rule", "rule", _rule, Kind.PROSE),
    )
    table = tabled("claims", "", fields, study.claims)
    sections = (Section("Parts", items=parts), Section("Claims", tables=(table,)))
    return Document("lsmeter-study", 1, study.title, sections=sections)


def _rule(claim: Claim) -> str:
    if claim.rule:
        return " ".join(claim.rule.split())
    return (
        f"cannot be told: {claim.cannot}"
        if claim.cannot
        else f"not comparable: {claim.incomparable}"
    )
