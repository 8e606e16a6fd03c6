# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies and their claims for programs: keys and their values, each declared once."""

from __future__ import annotations

from itertools import starmap
from typing import NamedTuple

from lsmeter.questions.reproduce.judge import Judged, Verdict
from lsmeter.questions.reproduce.parts import Where
from lsmeter.questions.reproduce.quantities import Finding
from lsmeter.tables.fields import Each, Field, Maybe, Row, named


class _At(NamedTuple):
    """What was found at a place."""

    where: Where
    found: Finding


def _decided(item: Judged) -> _At | None:
    found = item.decided
    return _At(item.where, found) if found is not None and found.text else None


_WHERE = (
    *(named("kernel", "where.kernel"), named("filesystem", "where.fs")),
    named("user", "where.user"),
)
_MEASURED = named("measured", lambda at: at.found.text or at.found.why)
_SOURCE = Row(
    (
        *(named("part"), named("benchmark"), named("setup", "tested.setup")),
        named("baseline", lambda of: of.baseline.setup if of.baseline else ""),
    )
)
_PLACE = Row(
    (
        *(*_WHERE, Field("holds", value="found.holds", of=bool | None), _MEASURED),
        *(Field("distance", value="found.distance"), named("unit", "found.unit")),
        Field(
            "rows",
            value=lambda at: dict.fromkeys(of.row for of in at.found.of),
            of=Each(_SOURCE),
        ),
    )
)
CLAIM = Row(
    (
        *(named(key, f"claim.{key}") for key in ("id", "claim", "place", "kind", "printed")),
        *(named(key, f"claim.{key}") for key in ("rule", "part", "refuted_by", "note")),
        Field("read_off", value="claim.read_off", of=bool),
        Field("verdict", of=Verdict),
        named("why"),
        Field("decided", value=_decided, of=Maybe(Row((*_WHERE, _MEASURED)))),
        Field("places", value=lambda item: starmap(_At, item.found.items()), of=Each(_PLACE)),
        Field("causes", of=Each(str)),
    )
)
_OURS = Row(
    (
        *(named(key, f"where.{key}") for key in ("kernel", "fs", "user")),
        *(Field(key, value=f"number.{key}") for key in ("value", "low", "high")),
        named("unit", "number.unit"),
    )
)
_PAIR = Row(
    (
        *(named(key, f"printed.{key}") for key in ("row", "heading", "setup", "text", "note")),
        Field("number", value="printed.number"),
        Field("ours", value=lambda item: [o for o in item.ours if o.number], of=Each(_OURS)),
        Field("agreement", of=str),
    )
)
_BESIDE = Row(
    (
        *(named(key, f"table.{key}") for key in ("id", "title", "place", "part", "comparable")),
        Field("rows", value="pairs", of=Each(_PAIR)),
    )
)
_PART = Row(
    (
        *(named("name"), named("run", lambda part: str(part.run.path))),
        named("command", "run.manifest.command"),
        Field("boots", value=lambda part: len(part.run.boots), of=int),
    )
)
STUDY = Row(
    (
        *(named("name", "study.name"), named("title", "study.title")),
        named("source", "study.source"),
        Field("quick", of=bool),
        Field("parts", value=lambda item: item.parts.values(), of=Each(_PART)),
        Field("failed", of=dict),
        Field("missing", value="study.missing", of=Each(str)),
        Field("claims", value="judged", of=Each(CLAIM)),
        Field("tables", value="beside", of=Each(_BESIDE)),
    )
)
