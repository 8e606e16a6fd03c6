# SPDX-License-Identifier: GPL-2.0-or-later
"""The results in short: how many claims of how many hold, study by study; words and order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lsmeter.core.groups import grouped
from lsmeter.questions.reproduce.figures import Reproduced, Tally, by_kind, by_study, tally
from lsmeter.questions.reproduce.judge import Judged, Verdict
from lsmeter.questions.reproduce.quantities import PERCENT
from lsmeter.tables.fields import Field, named, tabled
from lsmeter.tables.model import Item, Kind, Section, Shown, Table, Tone
from lsmeter.tables.values import many

# What is said of one claim, and of several.
WORDS = {
    Verdict.HOLDS: ("holds", "hold"),
    Verdict.FAILS: ("does not hold today", "do not hold today"),
    Verdict.OPEN: ("cannot be told", "cannot be told"),
    Verdict.INCOMPARABLE: ("is not comparable", "are not comparable"),
}
_SHARES = (
    "Judged are the claims that rows could bear out or refute. Claims that are read off the "
    "numbers are said by a study's tables, by its authors not in words."
)
_MOST = 3  # claims that are named of a study


def section(found: Sequence[Reproduced]) -> Section:
    """Return the results of one study or of several, as of a short paper."""
    items = tuple(Item(text) for item in found for text in _paragraph(item))
    tables = (
        _table("studies", "By study", by_study(found), found),
        _table("kinds", "By kind of claim", by_kind(found), ()),
    )
    return Section("Results", (_SHARES,), tables, items, key="results")


def say_counts(found: Tally) -> str:
    """Say how many claims have which verdict."""
    told = [
        f"{count} {WORDS[verdict][count != 1]}"
        for verdict, count in found.by_verdict.items()
        if count
    ]
    return ", ".join(told)


def answer(found: Sequence[Reproduced]) -> Iterator[str]:
    """Yield a sentence for each study, and before them one for all where there are several."""
    if len(found) > 1:
        every = by_study(found)[-1]
        yield f"{many(every.claims, 'claim')} of {len(found)} studies: {say_counts(every)}."
    for item in found:
        counts = tally(item.study.name, item.judged)
        size = f"{'quick: ' if item.quick else ''}{many(counts.claims, 'claim')}"
        lost = f" {many(len(item.failed), 'part')} without a run." if item.failed else ""
        few = len(item.incomplete)
        lost += f" {many(few, 'part')} incomplete." if few else ""
        yield f"{item.study.name}: {size}: {say_counts(counts)}.{lost}"


def _paragraph(item: Reproduced) -> Iterator[str]:
    counts = tally(item.study.name, item.judged)
    share = f": {counts.by_verdict[Verdict.HOLDS]} hold" if counts.judged else ""
    kernels = {part.kernels[name] for part in item.parts.values() for name in part.kernels}
    on = f" on Linux {', '.join(sorted(kernels))}" if kernels else ""
    yield (
        f"{item.study.title}{on}: of {many(counts.claims, 'claim')} {counts.judged} are judged"
        f"{share}. {counts.read_off} are read off the numbers."
    )
    for verdict, words in (
        (Verdict.HOLDS, "Holds by the least"),
        (Verdict.FAILS, "Farthest from what was claimed"),
    ):
        if named_claims := _by_distance(item.judged, verdict):
            yield f"{item.study.name}: {words}: {'; '.join(named_claims)}."
    for table in item.beside:
        said = ", ".join(f"{count} {kind}" for kind, count in table.counts.items())
        if said:
            yield f"{item.study.name}: {table.table.title}: {said} (of {len(table.pairs)} values)."
    if item.failed:
        why = grouped((reason, part) for part, reason in item.failed.items())
        lost = "; ".join(f"{', '.join(parts)} ({reason})" for reason, parts in why.items())
        yield f"{item.study.name}: parts without a run: {lost}."


def _by_distance(judged: Sequence[Judged], verdict: Verdict) -> list[str]:
    """Name claims by how far the number that decided lies from the bound, in per cent."""
    found = [
        (abs(told.distance), told.margin, item.claim)
        for item in judged
        if item.verdict is verdict and (told := item.decided) is not None
        if told.distance is not None and told.unit == PERCENT
    ]
    found.sort(key=lambda each: each[0], reverse=verdict is Verdict.FAILS)
    return [f"{of.id} (by {margin}; printed: {of.printed})" for _, margin, of in found[:_MOST]]


def _table(key: str, title: str, rows: Sequence[Tally], found: Sequence[Reproduced]) -> Table:
    links = {item.study.name for item in found}

    def name(row: Tally) -> Shown:
        link = f"{row.name}-claims" if row.name in links else ""
        return Shown(row.name, row.name, Tone.PLAIN, link=link)

    fields = (
        named("name", name, title.removeprefix("By ")),
        *(
            Field(verdict.name.lower(), verdict.value, lambda row, of=verdict: row.by_verdict[of])  # type: ignore[misc]
            for verdict in Verdict
        ),
        Field("claims", "claims"),
        Field("share", "of those judged hold", kind=Kind.SHARE),
    )
    return tabled(key, title, fields, rows)
