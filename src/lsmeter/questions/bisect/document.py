# SPDX-License-Identifier: GPL-2.0-or-later
"""What a bisection found, as a document; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lsmeter.questions.bisect.history import SHORT, Commit
from lsmeter.questions.bisect.search import State, Step
from lsmeter.tables.fields import By, Contract, Each, Field, Row, fields_of, named, tabled
from lsmeter.tables.model import Document, Kind, Section, Shown
from lsmeter.tables.values import many


@dataclass(frozen=True)
class Difference:
    """Where the cost of the first bad commit sits: sections and data of a `hooks diff`."""

    sections: tuple[Section, ...] = ()
    data: object | None = None
    note: str = ""


_STEP = Row(fields_of(Step))
CONTRACT = Contract(
    "lsmeter-bisect",
    1,
    Row(
        (
            Field("first_bad", of=str | None),
            *(Field("suspects", of=Each(str)), named("good"), named("bad")),
            *(Field("rules", of=Each(str)), Field("steps", of=Each(_STEP))),
            Field("commits", of=By(Row(fields_of(Commit)))),
            *(Field("difference", of=dict | None), Field("notes", of=Each(str))),
        )
    ),
)


def document(
    state: State,
    suspects: Sequence[str],
    commits: Mapping[str, Commit],
    rules: Sequence[str],
    where: Difference,
) -> Document:
    """Return what `bisect` shows; suspects is the first bad commit, or all that it may be."""
    first = suspects[0]
    told = commits[first]
    one = len(suspects) == 1
    title = "First bad commit" if one else f"The first bad commit is one of {len(suspects)}"
    facts = [
        ("commit", f"{first} {told.subject}"),
        ("author", f"{told.author}, {told.date}"),
        ("good", _short(state.question.good, commits)),
        ("bad", _short(state.question.bad, commits)),
        ("rules", "; ".join(rules)),
    ]
    if not one:
        facts[:2] = [("may be", "; ".join(_short(item, commits) for item in suspects))]
    notes = [] if one else ["commits that do not build, boot or give a number hide which it is"]
    notes += [where.note] if where.note else []
    why = next((step.detail for step in state.steps if step.commit == first), "")
    answer = f"{title}: {_short(first, commits)} ({told.author}, {told.date}).", why
    if not one:
        answer = (f"{title}: {', '.join(item[:SHORT] for item in suspects)}.", "")
    fields = (
        named("commit", lambda step: Shown(step.commit, step.commit[:SHORT])),
        named("ruling", "ruling.value"),
        Field("build_s", "build s", lambda step: Shown(step.build_s, f"{step.build_s:.0f}")),
        Field("run_s", "run s", lambda step: Shown(step.run_s, f"{step.run_s:.0f}")),
        named("decided_by", head="decided by"),
        Field("subject", "subject", lambda step: commits[step.commit].subject, Kind.PROSE),
        Field("detail", "why", kind=Kind.PROSE),
    )
    table = tabled("steps", "", fields, state.steps)
    steps = Section(many(len(table.rows), "step"), tables=(table,))
    data = {
        "first_bad": first if one else None,
        "suspects": suspects,
        "good": state.question.good,
        "bad": state.question.bad,
        "rules": rules,
        "steps": state.steps,
        "commits": commits,
        "difference": where.data,
        "notes": notes,
    }
    return Document(
        CONTRACT.name,
        CONTRACT.version,
        title,
        facts=tuple(facts),
        sections=(*where.sections, steps),
        notes=tuple(notes),
        data=CONTRACT.row.entry(data),
        answer=tuple(filter(None, answer)),
    )


def _short(commit: str, commits: Mapping[str, Commit]) -> str:
    return f"{commit[:SHORT]} {commits[commit].subject}"
