# SPDX-License-Identifier: GPL-2.0-or-later
"""What of a kernel's hooks the suites reach, of runs that counted them (`lsmeter help suites`)."""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lsmeter.core.groups import grouped
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.tasks.count import WATCHED_NAMES
from lsmeter.questions.cells.frame import run_document
from lsmeter.questions.hooks.count import Counts, find_counts, guest_facts
from lsmeter.sources.kernels.functions import is_hook
from lsmeter.tables.fields import Field, named, tabled
from lsmeter.tables.model import Document, Kind, Section
from lsmeter.tables.values import many

_RULES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["reason"]


@dataclass(frozen=True)
class Coverage:
    """The hooks of one kernel: who reaches each, and why others are reached by none.

    suites maps a suite to the hooks that its benchmarks ran under any setup; missing maps a hook
    that none ran to the reason. Names are without security_.
    """

    kernel: str
    hooks: tuple[str, ...]
    suites: dict[str, frozenset[str]]
    missing: dict[str, str]

    @property
    def reached(self) -> frozenset[str]:
        """Return the hooks that at least one suite ran."""
        return frozenset().union(*self.suites.values())

    @property
    def within_reach(self) -> int:
        """Return how many hooks a guest without special hardware can reach."""
        return len(self.hooks) - sum(out_of_reach(name) for name in self.missing)


def _rule(name: str) -> Mapping[str, Any]:
    """Return why no benchmark reaches a hook, and whether none can."""
    fits = (i for i in _RULES if any(fnmatch.fnmatchcase(name, form) for form in i["hooks"]))
    return next(fits, {})


def _why(name: str, benchmarks: int) -> str:
    """Say why none of so many benchmarks reached a hook."""
    return str(_rule(name).get("why", f"not by the {many(benchmarks, 'benchmark')} of this run"))


def out_of_reach(name: str) -> bool:
    """Say whether no guest as they are can run a hook."""
    return "out_of_reach" in _rule(name)


def coverage_document(run: RunData) -> Document:
    """Return what `list hooks` shows, a section for each kernel of a run that counted."""
    found, problems = coverage(run), find_counts(run).problems
    sections = tuple(_section(item) for item in found)
    data = {"kernels": [_data(item) for item in found]}
    title = "Hooks that the suites reach"
    made = run_document(run, "lsmeter-hook-coverage", title, sections, problems, data)
    return replace(made, answer=tuple(map(_sentence, found)))


def coverage(run: RunData) -> tuple[Coverage, ...]:
    """Say of each kernel of a run which hooks the benchmarks of each suite ran."""
    counts = find_counts(run)
    kernels = dict.fromkeys(place.kernel for place, _ in counts.watched)
    return tuple(_covered(name, _watched(run, name), counts) for name in kernels)


def _watched(run: RunData, kernel: str) -> Iterator[str]:
    """Give the functions of a kernel that were counted, as its guests said."""
    for key, names in guest_facts(run, kernel):
        if key.startswith(WATCHED_NAMES):
            yield from (name for name in names.split(",") if is_hook(f"security_{name}"))


def _covered(kernel: str, watched: Iterable[str], counts: Counts) -> Coverage:
    here = {(item.suite, item.id) for place, item in counts.benchmarks if place.kernel == kernel}
    suites: dict[str, set[str]] = {
        item.suite: set() for place, item in counts.benchmarks if place.kernel == kernel
    }
    for item in counts.counts:
        if item.place.kernel == kernel and any(item.readings):
            suites.setdefault(item.benchmark.suite, set()).add(item.name)
    reached = set().union(*suites.values())
    hooks = tuple(sorted({*watched, *reached}))
    missing = {name: _why(name, len(here)) for name in hooks if name not in reached}
    return Coverage(kernel, hooks, {k: frozenset(v) for k, v in suites.items()}, missing)


_MISSING = (
    Field("reason", "why", lambda item: item[0], Kind.PROSE),
    Field("count", "hooks", lambda item: len(item[1])),
    Field("hooks", "which", lambda item: ", ".join(item[1]), Kind.PROSE),
)


def _sentence(found: Coverage) -> str:
    total, reached, possible = len(found.hooks), len(found.reached), found.within_reach
    return (
        f"{found.kernel}: {reached} of {total} hooks reached ({_percent(reached, total)}); "
        f"{possible} can be reached in a guest as it is: {_percent(reached, possible)} of them."
    )


def _section(found: Coverage) -> Section:
    total = len(found.hooks)
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
    return Section(found.kernel, tables=tables)


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
