# SPDX-License-Identifier: GPL-2.0-or-later
"""What of a kernel's hooks the suites reach, as a document; docs/suites.md has an example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lsmeter.analysis.coverage import Coverage, out_of_reach
from lsmeter.model import Problem
from lsmeter.report.frame import run_document
from lsmeter.results.directory import RunData
from lsmeter.tables.model import Column, Document, Kind, Section, Table

_BY_SUITE = (
    Column("suite", "suite", Kind.NAME),
    Column("reached", "hooks reached"),
    Column("share", "of all", Kind.SHARE),
    Column("alone", "by no other suite"),
)
_MISSING = (
    Column("reason", "why", Kind.PROSE),
    Column("count", "hooks"),
    Column("hooks", "which", Kind.PROSE),
)
_REACHED = (Column("hook", "hook", Kind.NAME), Column("suites", "reached by", Kind.PROSE))


def coverage_document(
    run: RunData, found: Sequence[Coverage], problems: tuple[Problem, ...] = ()
) -> Document:
    """Return what `list hooks` shows, a section for each kernel."""
    sections = tuple(_section(item) for item in found)
    data = {"kernels": [_data(item) for item in found]}
    title = "Hooks that the suites reach"
    return run_document(run, "lsmeter-hook-coverage", title, sections, problems, data)


def _section(found: Coverage) -> Section:
    total, reached, possible = len(found.hooks), len(found.reached), found.within_reach
    text = (
        f"{found.kernel}: {reached} of {total} hooks reached ({_percent(reached, total)}); "
        f"{possible} can be reached in a guest as it is: {_percent(reached, possible)} of them."
    )
    reasons: dict[str, list[str]] = {}
    for hook, why in found.missing.items():
        reasons.setdefault(why, []).append(hook)
    rows = sorted(reasons.items(), key=lambda item: -len(item[1]))
    return Section(
        found.kernel,
        lead=(text,),
        tables=(
            Table("coverage", "By suite", _BY_SUITE, tuple(_suite_rows(found))),
            Table(
                "missing",
                "Reached by none",
                _MISSING,
                tuple((why, len(hooks), ", ".join(hooks)) for why, hooks in rows),
            ),
            Table(
                "reached",
                "Which suite reaches which hook",
                _REACHED,
                tuple((hook, ", ".join(_suites_of(found, hook))) for hook in sorted(found.reached)),
            ),
        ),
    )


def _suite_rows(found: Coverage) -> list[tuple[str, int, float, int]]:
    rows = []
    for suite, hooks in found.suites.items():
        others = (other for name, other in found.suites.items() if name != suite)
        alone = hooks.difference(*others)
        rows.append((suite, len(hooks), len(hooks) / (len(found.hooks) or 1), len(alone)))
    return rows


def _suites_of(found: Coverage, hook: str) -> list[str]:
    return [suite for suite, hooks in found.suites.items() if hook in hooks]


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "0 %"


def _data(found: Coverage) -> dict[str, Any]:
    return {
        "kernel": found.kernel,
        "hooks": len(found.hooks),
        "reached": len(found.reached),
        "within_reach": found.within_reach,
        "suites": {suite: sorted(hooks) for suite, hooks in found.suites.items()},
        "missing": [
            {"hook": hook, "reason": why, "out_of_reach": out_of_reach(hook)}
            for hook, why in found.missing.items()
        ],
    }
