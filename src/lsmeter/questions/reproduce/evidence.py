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
from lsmeter.questions.reproduce.quantities import Quantity, Source, as_quantity
from lsmeter.questions.reproduce.rows import CellBoots, ClaimRows, Measurement
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
        *(Column(f"ours_{n}", f"ours, {_at(found, at)}", Kind.NAME) for n, at in _each(found)),
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


def _each(found: Beside) -> Iterator[tuple[int, Where]]:
    yield from enumerate(found.places)


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
        else Shown(item.number.value, item.text)
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
    heads = ("benchmark", "setup", "over", "kernel", "file system, user")
    columns = (
        *(Column(head.replace(" ", "_"), head, Kind.NAME) for head in heads),
        *(Column(key, head) for key, head in (("cost", "cost"), ("base_cost", "over: cost"))),
        Column("overhead", "overhead", Kind.NAME),
        *(Column(key, key.replace("_", ", "), Kind.NAME) for key in ("boots", "boots_over")),
    )
    sizes = {found.key: found for found in item.boots}
    rows: list[tuple[Value, ...]] = []
    for group in item.rows:
        rows.append((_head(study, group),))
        rows += [_row(study, row, sizes) for row in group.rows]
    return Table(f"{study}-rows-table", "", columns, tuple(rows))


def _head(study: str, group: ClaimRows) -> Shown:
    claim = group.claim.claim.id
    more = f", {group.left:,} more rows in --format json" if group.left else ""
    return Shown(
        claim,
        f"{claim}: {group.claim.verdict}{more}",
        anchor=anchor(study, "rows", claim),
        link=anchor(study, "claim", claim),
    )


def _row(study: str, row: Measurement, sizes: dict[str, CellBoots]) -> tuple[Value, ...]:
    source, tested = row.source, row.source.tested
    boots = [_boots_link(study, key, sizes) for key in row.boots[:2]]
    boots += [Shown("", "")] * (2 - len(boots))
    return (
        f"{source.benchmark}{_figure(source)}",
        tested.setup,
        _over(source),
        tested.kernel,
        f"{tested.filesystem}, {tested.user}",
        _cost(row.cost),
        _cost(row.base_cost),
        row.overhead.text if row.overhead else MISSING,
        *boots,
    )


def _figure(source: Source) -> str:
    """Name the figure that was read, where it is not the instructions of a call or the kernel's."""
    said = "whole cycle" if source.whole else say_figure(source.of)
    return f" ({said})" if said else ""


def _over(source: Source) -> str:
    """Name the baseline; its user too where that is another one."""
    tested, base = source.tested, source.baseline
    if base is None:
        return ""
    return base.setup if base.user == tested.user else f"{base.setup} ({base.user})"


def _cost(number: Quantity | None) -> Value:
    """Write instructions without digits after the point; other figures may be shares of one."""
    if number is None:
        return None
    text = f"{number.value:,.0f}" if number.unit else as_quantity(number.value).text
    return Shown(number.value, text)


def _boots_link(study: str, key: str, sizes: dict[str, CellBoots]) -> Shown:
    found = sizes[key]
    return Shown(found.ended, f"{found.ended} ok", link=anchor(study, "boots", key))


def _boots_table(study: str, item: Reproduced) -> Table:
    heads = ("cell", "part", "kernel", "release", "setup", "suite", "file system", "user")
    columns = (
        *(Column(head.replace(" ", "_"), head, Kind.NAME) for head in heads),
        Column("ended", "ended well"),
        Column("boots", "boots"),
        Column("seeds", "seeds", Kind.PROSE),
        Column("kept", "kept in", Kind.CODE),
    )
    return Table(
        f"{study}-boots-table", "", columns, tuple(_boots(study, found) for found in item.boots)
    )


def _boots(study: str, found: CellBoots) -> tuple[Value, ...]:
    place = found.cell.place
    name = found.cell.hash[:12]
    return (
        Shown(found.cell.hash, name, anchor=anchor(study, "boots", found.key)),
        *(found.part.name, place.kernel, found.release, place.setup, place.suite),
        *(place.filesystem, place.user, found.ended, len(found.seeds)),
        ", ".join(map(str, found.seeds)),
        f"{found.part.run.path}/boots/{found.cell.hash}-*" if found.seeds else "",
    )
