# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows that decided claims, with their numbers, and the boots that these are of; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lsmeter.core.model import Place
from lsmeter.core.model.boot import BootStatus
from lsmeter.measure.results.manifest import ManifestCell
from lsmeter.questions.reproduce.judge import Judged, Known
from lsmeter.questions.reproduce.parts import Part
from lsmeter.questions.reproduce.quantities import MissingError, Quantity, Source

_MOST_ROWS = 40  # of a claim


@dataclass(frozen=True)
class Measurement:
    """A row that a claim was decided by: cost and overhead where it has them.

    cost and base_cost: the figure of the source, by default instructions of a call or a unit;
    overhead in per cent. boots: keys of those of the setup, and of its baseline.
    """

    source: Source
    cost: Quantity | None
    base_cost: Quantity | None
    overhead: Quantity | None
    boots: tuple[str, ...]


@dataclass(frozen=True)
class ClaimRows:
    """The rows of a claim; left: how many more there are."""

    claim: Judged
    rows: tuple[Measurement, ...]
    left: int


@dataclass(frozen=True)
class CellBoots:
    """The boots of a cell of a part: how many were made and ended well, and where they are kept."""

    key: str
    part: Part
    cell: ManifestCell
    release: str
    ended: int
    seeds: tuple[int, ...]


def find_boots(parts: Mapping[str, Part]) -> tuple[CellBoots, ...]:
    """Return the boots of all cells."""
    return tuple(
        CellBoots(
            _key(part, cell),
            part,
            cell,
            next(k.release for k in part.run.manifest.kernels if k.name == cell.place.kernel),
            sum(boot.status is BootStatus.OK for boot in boots),
            tuple(boot.seed for boot in boots),
        )
        for part in parts.values()
        for cell in part.run.manifest.cells
        for boots in (part.run.boots_of(cell),)
    )


def _key(part: Part, cell: ManifestCell) -> str:
    return f"{part.name}-{cell.hash[:12]}"


def find_rows(
    parts: Mapping[str, Part], known: Known, judged: Iterable[Judged]
) -> tuple[ClaimRows, ...]:
    """Return the rows that each claim was decided by, of claims that have any."""
    made = []
    for item in judged:
        sources = list(dict.fromkeys(item.decided.of)) if item.decided else []
        rows = tuple(_row(parts, known, source) for source in sources[:_MOST_ROWS])
        if rows:
            made.append(ClaimRows(item, rows, max(0, len(sources) - _MOST_ROWS)))
    return tuple(made)


def _row(parts: Mapping[str, Part], known: Known, source: Source) -> Measurement:
    part, tested, base = parts[source.part], source.tested, source.baseline

    def read(place: Place, name: str, *words: str, **further: object) -> Quantity | None:
        functions = known.get((source.part, part.where(place)))
        try:
            if functions is None:
                return None
            found: Quantity = functions[name](*words, source.benchmark, *of, **further, **whole)
        except MissingError:
            return None
        return found

    # Figures are of workloads, whole cycles of system calls.
    of, whole = (source.of,) if source.of else (), {"whole": 1} if source.whole else {}
    cost, over = ("work_cost", "work") if source.of else ("cost", "ov")
    overhead = None
    if base and base.kernel == tested.kernel:
        other = {"base_user": base.user} if base.user != tested.user else {}
        overhead = read(tested, over, tested.setup, base.setup, **other)
    return Measurement(
        source,
        read(tested, cost, tested.setup),
        read(base, cost, base.setup) if base else None,
        overhead,
        tuple(key for place in (tested, base) if place for key in _boots(part, parts, place)),
    )


def _boots(own: Part, parts: Mapping[str, Part], place: Place) -> list[str]:
    """Return the keys of a place's boots: of the part itself, or of those that have it."""

    def of(part: Part) -> list[str]:
        return [_key(part, cell) for cell in part.run.manifest.cells if cell.place == place]

    return of(own) or [key for part in parts.values() for key in of(part)]
