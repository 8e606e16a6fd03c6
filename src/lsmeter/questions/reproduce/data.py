# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies and their claims for programs: keys and their values, each declared once."""

from __future__ import annotations

from lsmeter.questions.reproduce.judge import Judged, Verdict
from lsmeter.questions.reproduce.parts import Where
from lsmeter.tables.fields import Each, Field, Maybe, Row, named


def _where(where: Where) -> dict[str, object]:
    return {"kernel": where.kernel, "filesystem": where.fs, "user": where.user}


def _decided(item: Judged) -> dict[str, object] | None:
    if item.decided is None or not item.decided.text:
        return None
    return {**_where(item.where), "measured": item.decided.text}


def _holds(item: Judged) -> list[dict[str, object]]:
    return [
        {
            **_where(where),
            "holds": one.holds,
            "measured": one.text or one.why,
            "distance": one.distance,
            "unit": one.unit,
            "rows": [
                {
                    "part": of.part,
                    "benchmark": of.benchmark,
                    "setup": of.tested.setup,
                    "baseline": of.baseline.setup if of.baseline else "",
                }
                for of in dict.fromkeys(of.row for of in one.of)
            ],
        }
        for where, one in item.found.items()
    ]


_ROWS = Row(tuple(map(named, ("part", "benchmark", "setup", "baseline"))))
_DECIDED = Row(tuple(map(named, ("kernel", "filesystem", "user", "measured"))))
_PLACE = Row(
    (
        *map(named, ("kernel", "filesystem", "user")),
        Field("holds", of=bool | None),
        named("measured"),
        Field("distance"),
        named("unit"),
        Field("rows", of=Each(_ROWS)),
    )
)
CLAIM = Row(
    (
        *(named(key, f"claim.{key}") for key in ("id", "claim", "place", "kind", "printed")),
        *(named(key, f"claim.{key}") for key in ("rule", "part", "refuted_by", "note")),
        Field("read_off", value="claim.read_off", of=bool),
        Field("verdict", of=Verdict),
        named("why"),
        Field("decided", value=_decided, of=Maybe(_DECIDED)),
        Field("places", value=_holds, of=Each(_PLACE)),
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
        Field("parts", value=lambda item: [*item.parts.values()], of=Each(_PART)),
        Field("failed", value=lambda item: dict(item.failed), of=dict),
        Field("missing", value="study.missing", of=Each(str)),
        Field("claims", value="judged", of=Each(CLAIM)),
        Field("tables", value="beside", of=Each(_BESIDE)),
    )
)
