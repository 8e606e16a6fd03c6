# SPDX-License-Identifier: GPL-2.0-or-later
"""What of a kernel's hooks the suites reach, as a document (`lsmeter help suites`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lsmeter.core.groups import grouped
from lsmeter.core.model import Problem
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.cells.frame import run_document
from lsmeter.questions.hooks.coverage.figures import Coverage, out_of_reach
from lsmeter.tables.fields import Field, named, tabled
from lsmeter.tables.model import Document, Kind, Section

_MISSING = (
    Field("reason", "why", lambda item: item[0], Kind.PROSE),
    Field("count", "hooks", lambda item: len(item[1])),
    Field("hooks", "which", lambda item: ", ".join(item[1]), Kind.PROSE),
)


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
    reasons = grouped((why, hook) for hook, why in found.missing.items())
    missing = sorted(reasons.items(), key=lambda item: -len(item[1]))

    def alone(suite: str) -> int:
        others = (other for name, other in found.suites.items() if name != suite)
        return len(found.suites[suite].difference(*others))

    def suites(hook: str) -> str:
        return ", ".join(suite for suite, hooks in found.suites.items() if hook in hooks)

    by_suite = (
        named("suite", str),
        Field("reached", "hooks reached", lambda suite: len(found.suites[suite])),
        Field("share", "of all", lambda s: len(found.suites[s]) / (total or 1), Kind.SHARE),
        Field("alone", "by no other suite", alone),
    )
    by_hook = (named("hook", str), Field("suites", "reached by", suites, Kind.PROSE))
    tables = (
        tabled("coverage", "By suite", by_suite, found.suites),
        tabled("missing", "Reached by none", _MISSING, missing),
        tabled("reached", "Which suite reaches which hook", by_hook, sorted(found.reached)),
    )
    return Section(found.kernel, lead=(text,), tables=tables)


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
