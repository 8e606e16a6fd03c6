# SPDX-License-Identifier: GPL-2.0-or-later
"""What a bisection found, as a document; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lsmeter.base.errors import ExitCode
from lsmeter.bisection.history import SHORT
from lsmeter.bisection.search import Ended, Step
from lsmeter.bisection.state import State
from lsmeter.tables.model import Column, Document, Kind, Section, Shown, Table, Value
from lsmeter.tables.values import many


@dataclass(frozen=True)
class Commit:
    """What people see of a commit."""

    subject: str
    author: str
    date: str


@dataclass(frozen=True)
class Difference:
    """Where the cost of the first bad commit sits: sections and data of a `hooks diff`."""

    sections: tuple[Section, ...] = ()
    data: object | None = None
    note: str = ""


def exit_code(ended: Ended) -> ExitCode:
    """Return 0 for one commit, 1 for several of which any may be it."""
    return ExitCode.OK if len(ended.suspects) == 1 else ExitCode.INCOMPLETE


def document(
    state: State,
    ended: Ended,
    commits: Mapping[str, Commit],
    rules: Sequence[str],
    where: Difference,
) -> Document:
    """Return what `bisect` shows."""
    first = ended.suspects[0]
    told = commits[first]
    one = len(ended.suspects) == 1
    title = "First bad commit" if one else f"The first bad commit is one of {len(ended.suspects)}"
    facts = [
        ("commit", f"{first} {told.subject}"),
        ("author", f"{told.author}, {told.date}"),
        ("good", _short(state.question.good, commits)),
        ("bad", _short(state.question.bad, commits)),
        ("rules", "; ".join(rules)),
    ]
    if not one:
        facts[:2] = [("may be", "; ".join(_short(item, commits) for item in ended.suspects))]
    notes = [] if one else ["commits that do not build, boot or give a number hide which it is"]
    notes += [where.note] if where.note else []
    columns = (
        Column("commit", "commit", Kind.NAME),
        Column("ruling", "ruling", Kind.NAME),
        Column("build_s", "build s"),
        Column("run_s", "run s"),
        Column("subject", "subject", Kind.PROSE),
        Column("detail", "why", Kind.PROSE),
    )
    rows = tuple(_row(step, commits) for step in state.steps)
    steps = Section(f"{many(len(rows), 'step')}", tables=(Table("steps", "", columns, rows),))
    data = {
        "first_bad": first if one else None,
        "suspects": ended.suspects,
        "good": state.question.good,
        "bad": state.question.bad,
        "rules": list(rules),
        "steps": [vars(step) for step in state.steps],
        "commits": {name: vars(item) for name, item in commits.items()},
        "difference": where.data,
        "notes": notes,
    }
    return Document(
        "lsmeter-bisect",
        1,
        title,
        facts=tuple(facts),
        sections=(*where.sections, steps),
        notes=tuple(notes),
        data=data,
    )


def _short(commit: str, commits: Mapping[str, Commit]) -> str:
    return f"{commit[:SHORT]} {commits[commit].subject}"


def _row(step: Step, commits: Mapping[str, Commit]) -> tuple[Value, ...]:
    seconds = (Shown(value, f"{value:.0f}") for value in (step.build_s, step.run_s))
    named = (Shown(step.commit, step.commit[:SHORT]), step.ruling.value, *seconds)
    return (*named, commits[step.commit].subject, step.detail)
