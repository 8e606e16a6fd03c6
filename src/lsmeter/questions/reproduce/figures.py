# SPDX-License-Identifier: GPL-2.0-or-later
"""A study with its runs, its claims judged, and all that its document shows; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lsmeter.catalogue.studies.study import Study
from lsmeter.core.model.boot import BootStatus
from lsmeter.questions.reproduce.compared import Beside, Plotted, compare_table, plot_points
from lsmeter.questions.reproduce.judge import Judged, Known, Verdict
from lsmeter.questions.reproduce.parts import Part
from lsmeter.questions.reproduce.rows import CellBoots, ClaimRows, find_boots, find_rows
from lsmeter.questions.reproduce.rules import Rule


@dataclass(frozen=True)
class Reproduced:
    """A study with its runs and its claims judged; failed says of a part why it has no run.

    rows decided claims, boots are those of all parts; beside has the printed tables with ours.
    """

    study: Study
    parts: Mapping[str, Part]
    failed: Mapping[str, str]
    judged: tuple[Judged, ...]
    quick: bool
    rows: tuple[ClaimRows, ...] = ()
    boots: tuple[CellBoots, ...] = ()
    beside: tuple[Beside, ...] = ()
    plotted: tuple[Plotted, ...] = ()

    @property
    def incomplete(self) -> dict[str, str]:
        """Parts of which boots are missing: how many of how many ended well."""
        found = {}
        for name, part in self.parts.items():
            ended = sum(boot.status is BootStatus.OK for boot in part.run.boots)
            if ended < (asked := len(part.run.manifest.boots)):
                found[name] = f"{ended} of {asked} boots ended well"
        return found


def reproduced(
    found: Reproduced, known: Known, shown: Mapping[str, Rule], *, whole: bool
) -> Reproduced:
    """Return a study with rows, boots, tables and plots; not whole: without tables and plots.

    shown are the expressions of its tables and plots, by their ids.
    """
    study = found.study
    tables = [item for item in study.compared if whole and item.part in found.parts]
    plots = [item for item in study.plots if whole and item.part in found.parts]
    return replace(
        found,
        rows=find_rows(found.parts, known, found.judged),
        boots=find_boots(found.parts),
        beside=tuple(compare_table(study, item, shown, known) for item in tables),
        plotted=tuple(plot_points(study, item, shown, known) for item in plots),
    )


@dataclass(frozen=True)
class Tally:
    """How many claims of a kind, or of a study, have each verdict."""

    name: str
    claims: int
    by_verdict: Mapping[Verdict, int]
    read_off: int  # of the claims: the numbers say them, the authors not in words

    @property
    def judged(self) -> int:
        """How many rows could bear out or refute."""
        return self.by_verdict[Verdict.HOLDS] + self.by_verdict[Verdict.FAILS]

    @property
    def share(self) -> float | None:
        """Share of those judged that hold, a fraction."""
        return self.by_verdict[Verdict.HOLDS] / self.judged if self.judged else None


def tally(name: str, judged: Sequence[Judged]) -> Tally:
    """Count verdicts."""
    read_off = sum(item.claim.read_off for item in judged)
    counts = {verdict: sum(item.verdict is verdict for item in judged) for verdict in Verdict}
    return Tally(name, len(judged), counts, read_off)


def by_study(found: Iterable[Reproduced]) -> list[Tally]:
    """Count verdicts study by study, and over all of them where there are several."""
    items = list(found)
    every = [claim for item in items for claim in item.judged]
    rows = [tally(item.study.name, item.judged) for item in items]
    return [*rows, tally("all", every)] if len(rows) > 1 else rows


def by_kind(found: Iterable[Reproduced]) -> list[Tally]:
    """Count verdicts by kinds of claims, those that are read off the numbers apart."""
    every = [claim for item in found for claim in item.judged]
    kinds = sorted({item.claim.kind for item in every})
    rows = [tally(kind, [item for item in every if item.claim.kind == kind]) for kind in kinds]
    for name, off in (("said in words", False), ("read off the numbers", True)):
        mine = [item for item in every if item.claim.read_off is off]
        rows += [tally(name, mine)] if mine else []
    return rows
