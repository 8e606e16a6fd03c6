# SPDX-License-Identifier: GPL-2.0-or-later
"""What the commits of a series cost, as a document: the text of a cover letter; pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

from lsmeter.core.model import Place
from lsmeter.core.model.conclusion import Difference, Number, Verdict
from lsmeter.questions.bisect.history import SHORT, Commit
from lsmeter.questions.cells.rows import CHANGE, PLACED
from lsmeter.questions.gate.document import MOVED, moved_words
from lsmeter.questions.patches.figures import NO_NUMBER, Effect, Member, Outcome, changes_of
from lsmeter.questions.time.differences import (
    DIFFERENCE,
    WAITS,
    difference_words,
    waiting_words,
)
from lsmeter.questions.time.document import OUTSIDE
from lsmeter.questions.time.figures import ToldDifference
from lsmeter.tables import numbers
from lsmeter.tables.fields import (
    By,
    Contract,
    Each,
    Field,
    Maybe,
    Row,
    fields_of,
    flat_table,
    headed,
    named,
    tabled,
)
from lsmeter.tables.model import Detail, Document, Item, Kind, Section, Shown, Table
from lsmeter.tables.values import change, count, left_out, many, some

_ROWS = 6  # of a commit in a mail
_PLACES = 3
_NAMED = 6  # commits without a number
_NARROW = frozenset({Detail.SHORT, Detail.TERMINAL})


@dataclass(frozen=True)
class Series:
    """All that is shown of a series.

    total is what the last commit that was measured costs over the base, and `last` which that is;
    predicted is the same in time, where times are known. facts say how it was measured.
    """

    base: str
    told: Commit
    members: tuple[Member, ...]
    last: str
    total: tuple[Effect, ...]
    facts: tuple[tuple[str, str], ...]
    command: str
    predicted: ToldDifference | None = None


def _marked(effect: Effect) -> Shown:
    """Return the difference with the mark of the number that decided."""
    found = round(effect.item.difference, 2) + 0.0
    mark = numbers.DECIDED_MARKS[effect.item.decided_by]
    return Shown(found, f"{change(round(found, 1))} {mark or ' '}")


def _share(effect: Effect) -> Shown:
    share, verdict = effect.item.overhead, effect.item.verdict
    return Shown(share, f"{numbers.overhead(share, verdict)} %", numbers.TONES[verdict])


def _whole(effect: Effect) -> Shown | None:
    whole = effect.item.whole
    if whole is None:
        return None
    text = change(round(whole.difference, 1) + 0.0)
    half = (whole.high - whole.low) / 2
    if round(half, 1):
        text += f" {numbers.PLUS_MINUS}{count(round(half, 1))}"
    return Shown(whole.difference, text)


def _time(effect: Effect) -> Shown | None:
    if effect.predicted is None:
        return None
    found = effect.predicted.difference
    ns, low, high = (change(round(ns) if math.isfinite(ns) else None) for ns in astuple(found)[:3])
    mark = WAITS if effect.predicted.waits else OUTSIDE * bool(found.outside)
    return Shown(found.ns, f"{ns}{mark} ({low} to {high})")


def _told(predicted: ToldDifference) -> Iterator[str]:
    """Say how far predicted times are off, and which do not hold."""
    yield from difference_words(predicted)
    yield from waiting_words(predicted.differences)
    if any(item.difference.outside for item in predicted.differences):
        yield f"{OUTSIDE} is made of other events than calls that were calibrated."


def _where(effect: Effect) -> str:
    return "" if effect.moved is None else moved_words(effect.moved)


_SHOWN = (
    named("benchmark", "item.benchmark.id"),
    Field("old", "old", lambda effect: round(effect.item.decided.baseline_value, 2) + 0.0),
    Field("new", "new", lambda effect: round(effect.item.decided.value, 2) + 0.0),
    Field("difference", "diff", _marked, Kind.CHANGE),
    Field("overhead", "share", _share, Kind.PERCENT),
    Field("whole", "whole cost", _whole, Kind.CHANGE),
)
_CHANGES = tuple(Field(name.value, value=f"item.{name.value}", of=Maybe(CHANGE)) for name in Number)
_TIME = Field("predicted_difference_ns", "predicted ns", _time, Kind.CHANGE)
_FULL = (
    named("decided_by", "item.decided_by.value", "decided by"),
    Field("where", "where", _where, Kind.PROSE),
)
_EFFECT = Row(
    (
        *PLACED,
        Field("found", value="item.found", of=Difference),
        Field("verdict", value="item.verdict", of=Verdict),
        Field("decided_by", value="item.decided_by", of=Number),
        Field("decided", value="item.decided", of=CHANGE, flat=""),
        *_CHANGES,
        Field("moved", of=Maybe(MOVED)),
        Field("predicted", of=Maybe(DIFFERENCE)),
    )
)
_MEMBER = (
    *(named("commit"), *fields_of(Commit, of="told."), Field("outcome", of=Outcome)),
    *(named("why"), named("against"), Field("same_kernel", kind=Kind.YES)),
    *(Field("build_s"), Field("run_s")),
)
_EFFECTS = Field("effects", of=Each(_EFFECT))
CONTRACT = Contract(
    "lsmeter-patches",
    1,
    Row(
        (
            *(named("base"), Field("base_commit", value="told", of=Commit)),
            Field("commits", value="members", of=Each(Row((*_MEMBER, _EFFECTS)))),
            *(named("last"), Field("total", of=Each(_EFFECT))),
            *(Field("facts", value=lambda item: dict(item.facts), of=By(str)), named("command")),
        )
    ),
)


def document(series: Series, detail: Detail = Detail.FULL) -> Document:
    """Return what `patches` shows, for a format with this much room."""
    data = CONTRACT.row.entry(series)
    short = series.base[:SHORT]
    if detail is Detail.DATA:
        sections = [Section("", tables=(_flat(data),))]
    else:
        sections = [*_sections(series, detail)]
    return Document(
        CONTRACT.name,
        CONTRACT.version,
        f"{many(len(series.members), 'commit')} on {short} {series.told.subject}",
        answer=tuple(_answer(series)),
        facts=(*series.facts, ("command", series.command)),
        sections=tuple(sections),
        notes=tuple(_told(series.predicted)) if series.predicted else (),
        data=data,
    )


def letter(series: Series) -> Document:
    """Return the part of a cover letter: the same, with the answer once."""
    found = document(series, Detail.SHORT)
    return replace(found, lead=found.answer, answer=())


def _flat(data: Mapping[str, Any]) -> Table:
    """Make a row of each effect of each commit; a commit without any has one, too."""
    commit, effect = Row(_MEMBER), _EFFECT
    rows = [
        {**commit.flat(member), **effect.flat(each)}
        for member in data["commits"]
        for each in member["effects"] or [None]
    ]
    return flat_table("effects", rows, {**commit.flat(None), **effect.flat(None)})


def _answer(series: Series) -> Iterator[str]:
    """Say what all commits cost together, and what gave no number."""
    found = changes_of(series.total)
    first: dict[str, Effect] = {}
    for effect in found:
        first.setdefault(effect.place.setup, effect)
    for setup, effect in first.items():
        item = effect.item
        of, whole = f", {item.decided_by}", _whole(effect)
        of += f"; whole cost {whole.text}" if whole and item.decided_by is not Number.WHOLE else ""
        yield (
            f"{setup}: {item.benchmark.id} {change(round(item.difference, 1))} instructions "
            f"({_share(effect).text}{of}) for the whole series."
        )
    if series.total and not found:
        yield f"The series changes nothing that {_benchmarks(series.total)} see."
    lost = [member for member in series.members if member.outcome in NO_NUMBER]
    if lost:
        names = some([f"{_name(member)} ({member.outcome})" for member in lost], _NAMED)
        yield f"Without a number: {names}."


def _benchmarks(effects: Sequence[Effect]) -> str:
    return many(len({effect.benchmark.id for effect in effects}), "benchmark")


def _name(member: Member) -> str:
    return member.commit[:SHORT] or member.told.subject[:40]


def _sections(series: Series, detail: Detail) -> Iterator[Section]:
    before = series.base
    for number, member in enumerate(series.members, 1):
        title = f"{number}/{len(series.members)} {member.commit[:SHORT]} {member.told.subject}"
        effects = member.effects if member.outcome is Outcome.CHANGED else ()
        said = (*_said(member, before), *_places(effects, detail))
        tables = (_table(effects, detail),) if effects else ()
        items = tuple(map(Item, said))
        yield Section(" ".join(title.split()), (), tables, items, key=f"commit-{number}")
        before = member.commit or before
    if sum(member.outcome is Outcome.CHANGED for member in series.members) > 1:
        head = f"The whole series ({series.base[:SHORT]} to {series.last[:SHORT]})"
        items = tuple(map(Item, _places(series.total, detail)))
        yield Section(head, (), (_table(series.total, detail),), items, key="total")


def _said(member: Member, before: str) -> Iterator[str]:
    """Say in a sentence what came of a commit."""
    if member.outcome in NO_NUMBER:
        yield f"{member.outcome.capitalize()}: {member.why}"
    elif member.outcome is Outcome.IDENTICAL:
        same = f"every count of {_benchmarks(member.effects)} is the same"
        yield f"Changes nothing: {'the kernel is the same' if member.same_kernel else same}."
    elif member.outcome is Outcome.UNCHANGED:
        yield f"Changes nothing that {_benchmarks(member.effects)} see."
    if member.effects and member.against != before:
        yield (
            f"Held against {member.against[:SHORT]}, the last one with a number: what lies between "
            "is in it."
        )


def _places(effects: Sequence[Effect], detail: Detail) -> Iterator[str]:
    """Name the hooks and functions of the largest changes, where no column has room for them."""
    found: dict[tuple[str, str], Effect] = {}
    for effect in changes_of(effects) if detail in _NARROW else ():
        if effect.moved is not None:
            found.setdefault((effect.moved.hook, effect.moved.function), effect)
    for effect in [*found.values()][:_PLACES]:
        yield f"{effect.benchmark.id}, {effect.place.setup}: {_where(effect)}"


def _table(effects: Sequence[Effect], detail: Detail) -> Table:
    found = changes_of(effects)
    rows = found[:_ROWS] if detail is Detail.SHORT else found
    marks = {effect.item.decided_by for effect in rows} - {Number.TYPICAL}
    words = {Number.MEAN: "m: in the mean of all calls", Number.WHOLE: "w: of the whole cost"}
    lead = ", ".join(words[number] for number in Number if number in marks)
    left = left_out(len(found) - len(rows), len(effects) - len(found))
    more = (f"Not shown: {left}.",) if left else ()
    times = (_TIME,) if any(effect.predicted for effect in rows) else ()
    fields = (*_SHOWN, *times, *(() if detail in _NARROW else _FULL))
    table = tabled("effects", "", fields, rows, more=more)
    table = replace(table, lead=(f"{lead}; else of the typical call.",)) if lead else table
    return headed(table, (_under(effect.place) for effect in rows))


def _under(place: Place) -> str:
    return f"{place.setup} ({place.suite}, {place.filesystem}, {place.user})"
