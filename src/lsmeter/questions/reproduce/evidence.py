# SPDX-License-Identifier: GPL-2.0-or-later
"""What stands under a study's claims: printed tables beside ours, rows, boots; words and order."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsmeter.core.printable import printable
from lsmeter.questions.reproduce.compared import NEAR, Agreement, Beside, Pair
from lsmeter.questions.reproduce.facts import say_figure
from lsmeter.questions.reproduce.figures import Reproduced
from lsmeter.questions.reproduce.parts import Where
from lsmeter.questions.reproduce.quantities import Quantity, as_quantity
from lsmeter.questions.reproduce.rows import CellBoots, ClaimRows, Measurement
from lsmeter.tables.fields import Field, headed, named, tabled
from lsmeter.tables.model import Column, Kind, Section, Shown, Table, Tone, Value
from lsmeter.tables.values import MISSING

_ROWS = (
    "The rows by which each claim was decided: instructions of a call or of a unit of a workload "
    "(mean over boots), or the figure that stands in parentheses; over which setup, the overhead, "
    "and the boots that were read. A click on the claim leads back."
)
_BOOTS = (
    "One row for each cell: kernel, setup, suite, file system and user. Its boots stand in the run "
    "directory under boots/CELL-NUMBER; seeds are of their random numbers."
)
_AGREEMENTS = (
    f"agrees: over all places that were measured; sizes within a factor of {NEAR}; "
    "not told: the interval reaches over 0, or over the margin."
)
_TONES = {
    **dict.fromkeys((Agreement.OTHER, Agreement.DIFFERENT, Agreement.ABOVE), Tone.WORSE),
    Agreement.OPEN: Tone.QUIET,
}


def anchor(study: str, kind: str, name: str) -> str:
    """Return the name that links use for a claim, its rows, or boots."""
    return re.sub(r"[^a-z0-9.-]+", "-", f"{study}-{kind}-{name}".lower())


def beside_section(study: str, found: Beside) -> Section:
    """Return a printed table: printed, ours at each place, and what agrees."""
    table = found.table
    lead = (f"{table.place}. Comparable: {table.comparable}", _AGREEMENTS)
    setups = len({pair.printed.setup for pair in found.pairs}) > 1
    columns = (
        Column("row", "row", Kind.NAME),
        *((Column("setup", "of", Kind.NAME),) if setups else ()),
        Column("printed", "printed", Kind.NAME),
        *(
            Column(f"ours_{number}", f"ours, {_at(found, where)}", Kind.NAME)
            for number, where in enumerate(found.places)
        ),
        Column("agrees", "agrees", Kind.NAME),
    )
    rows: list[tuple[Value, ...]] = []
    heading = ""
    for pair in found.pairs:
        if pair.printed.heading != heading:
            heading = pair.printed.heading
            rows.append((heading,))
        rows.append(_pair(pair, setups=setups))
    notes = [pair.printed for pair in found.pairs if pair.printed.note]
    more = tuple(dict.fromkeys(f"{cell.row}: {cell.note}" for cell in notes))
    shown = Table(f"{study}-{table.id}-table", "", columns, tuple(rows), more=more)
    return Section(f"{study}: {table.title}", lead, (shown,), key=f"{study}-{table.id}")


def _at(found: Beside, where: Where) -> str:
    """Name a place by what differs between those of a table."""
    differing = [
        own for n, own in enumerate(where) if len({place[n] for place in found.places}) > 1
    ]
    return " ".join(differing) or str(where)


def _pair(pair: Pair, *, setups: bool) -> tuple[Value, ...]:
    cell = pair.printed
    ours = (
        Shown(None, MISSING, Tone.QUIET, hover=printable(item.why))
        if item.number is None
        else Shown(item.number.value, item.number.text)
        for item in pair.ours
    )
    agrees = Shown(
        pair.agreement.value, pair.agreement.value, _TONES.get(pair.agreement, Tone.PLAIN)
    )
    name = Shown(cell.row, cell.row, hover=cell.note)
    return (name, *((cell.setup,) if setups else ()), cell.text, *ours, agrees)


def sections(item: Reproduced) -> Iterator[Section]:
    """Yield the rows behind the claims, then the boots that they are of."""
    name = item.study.name
    if item.rows:
        table = _rows_table(name, item)
        yield Section(f"{name}: rows behind the claims", (_ROWS,), (table,), key=f"{name}-rows")
    if item.boots:
        table = _boots_table(name, item)
        yield Section(f"{name}: boots", (_BOOTS,), (table,), key=f"{name}-boots")


def _rows_table(study: str, item: Reproduced) -> Table:
    sizes = {found.key: found for found in item.boots}

    def boots(row: Measurement, side: int) -> Shown:
        if side >= len(row.boots):
            return Shown("", "")
        found = sizes[row.boots[side]]
        return Shown(found.ended, f"{found.ended} ok", link=anchor(study, "boots", found.key))

    fields = (
        named("benchmark", _benchmark),
        named("setup", "source.tested.setup"),
        named("over", _over),
        named("kernel", "source.tested.kernel"),
        named("file_system,_user", _place, "file system, user"),
        Field("cost", "cost", lambda row: _cost(row.cost)),
        Field("base_cost", "over: cost", lambda row: _cost(row.base_cost)),
        named("overhead", lambda row: row.overhead.text if row.overhead else MISSING),
        named("boots", lambda row: boots(row, 0)),
        named("boots_over", lambda row: boots(row, 1), "boots, over"),
    )
    heads = (_head(study, group) for group in item.rows for _ in group.rows)
    rows = (row for group in item.rows for row in group.rows)
    return headed(tabled(f"{study}-rows-table", "", fields, rows), heads)


def _head(study: str, group: ClaimRows) -> Shown:
    claim = group.claim.claim.id
    more = f", {group.left:,} more rows in --format json" if group.left else ""
    return Shown(
        claim,
        f"{claim}: {group.claim.verdict}{more}",
        anchor=anchor(study, "rows", claim),
        link=anchor(study, "claim", claim),
    )


def _benchmark(row: Measurement) -> str:
    """Name the figure that was read, where it is not the instructions of a call or the kernel's."""
    source = row.source
    said = "whole cycle" if source.whole else say_figure(source.of)
    return f"{source.benchmark} ({said})" if said else source.benchmark


def _place(row: Measurement) -> str:
    return f"{row.source.tested.filesystem}, {row.source.tested.user}"


def _over(row: Measurement) -> str:
    """Name the baseline; its user too where that is another one."""
    tested, base = row.source.tested, row.source.baseline
    if base is None:
        return ""
    return base.setup if base.user == tested.user else f"{base.setup} ({base.user})"


def _cost(number: Quantity | None) -> Value:
    """Write instructions without digits after the point; other figures may be shares of one."""
    if number is None:
        return None
    text = f"{number.value:,.0f}" if number.unit else as_quantity(number.value).text
    return Shown(number.value, text)


def _boots_table(study: str, item: Reproduced) -> Table:
    def cell(found: CellBoots) -> Shown:
        digest = found.cell.hash
        return Shown(digest, digest[:12], anchor=anchor(study, "boots", found.key))

    def folder(found: CellBoots) -> str:
        return f"{found.part.run.path}/boots/{found.cell.hash}-*" if found.seeds else ""

    fields = (
        *(named("cell", cell), named("part", "part.name"), named("kernel", "cell.place.kernel")),
        named("release"),
        *(named(key, f"cell.place.{key}") for key in ("setup", "suite")),
        named("file_system", "cell.place.filesystem", "file system"),
        named("user", "cell.place.user"),
        Field("ended", "ended well"),
        Field("boots", "boots", lambda found: len(found.seeds)),
        Field("seeds", "seeds", lambda found: ", ".join(map(str, found.seeds)), Kind.PROSE),
        Field("kept", "kept in", folder, Kind.CODE),
    )
    return tabled(f"{study}-boots-table", "", fields, item.boots)
