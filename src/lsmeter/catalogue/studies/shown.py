# SPDX-License-Identifier: GPL-2.0-or-later
"""What the document of a study shows beside its claims: printed tables, and plots; as data.

`lsmeter help studies` describes the keys. Expressions are texts here.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from lsmeter.catalogue.studies import HOME, Published
from lsmeter.core.errors import UsageError
from lsmeter.core.inputs import beside, read_file

CSV = ".csv"
_MOST_BYTES, _MOST_ROWS = 1 << 18, 2000
_OF_PATH = re.compile(r"(\d*)d")  # so often for each component of the path

_Text = Annotated[str, Field(min_length=1, max_length=1000)]
_Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{0,79}$")]
_Words = Annotated[list[_Text], Field(max_length=200)]
_Expression = Annotated[str, Field(min_length=1, max_length=4000)]


class Placed(BaseModel):
    """What is worked out at places of a part: of these kernels (series), file systems, users."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    id: _Name
    title: _Text
    part: _Name
    kernels: list[_Name] = []
    filesystems: list[_Name] = []
    users: list[_Name] = []


class Compared(Placed):
    """A printed table with ours beside it.

    printed: printed values by their name, or a CSV file of the folder or of lsmeter. Of those, the
    rows of these tables only, and these setups (in a CSV: columns; rows are named by the columns
    of `rows`). ours is an expression over row, setup, benchmark and the columns of a CSV, several
    that for rows of several benchmarks, own those of single rows, by their printed names. names
    replaces words before they are read by it. depth is what "d" of a CSV stands for. margin is how
    far equal counts may lie apart. bound says that printed counts are those of at most; where 0 is
    printed, a setup has none.
    """

    place: _Text
    printed: _Text
    ours: _Expression
    several: Annotated[str, Field(max_length=4000)] = ""
    own: Annotated[dict[str, _Expression], Field(max_length=200)] = {}
    comparable: _Text
    tables: _Words = []
    rows: _Words = []
    setups: _Words = []
    names: dict[str, str] = {}
    unit: Annotated[str, Field(max_length=40)] = ""
    depth: Annotated[int, Field(ge=0, le=100)] = 0
    margin: Annotated[float, Field(ge=0, le=1e9)] = 0.0
    bound: bool = False


class Plot(Placed):
    """A plot in the form of one of the study's: an expression over x and series.

    bars: a group for each x, a bar for each series. lines: x are numbers. points: the same with
    the line of regression. x and series are words, or one name of a list of the study.
    """

    form: Literal["bars", "lines", "points"]
    value: _Expression
    x: _Words
    series: _Words = [""]
    x_title: Annotated[str, Field(max_length=100)] = ""
    y_title: _Text
    caption: Annotated[str, Field(max_length=1000)] = ""


@dataclass(frozen=True)
class Cell:
    """A printed value: the row and the setup that it is of, the number if it is one, and as text.

    known are the words that an expression may use; percent says that it is an overhead.
    """

    row: str
    heading: str
    setup: str
    number: float | None
    text: str
    known: Mapping[str, str | list[str]]
    percent: bool = False
    note: str = ""


def printed_cells(table: Compared, home: Path, known: Sequence[Published]) -> list[Cell]:
    """Return the printed values that a table shows; UsageError says what is wrong with it."""
    where = f"{home / 'study.toml'}: compared.{table.id}"
    if table.printed.endswith(CSV):
        found = list(_of_csv(table, home, where))
    else:
        study = next((item for item in known if item.name == table.printed), None)
        if study is None:
            said = ", ".join(item.name for item in known) or "none"
            raise UsageError(f"{where}.printed: '{table.printed}' is not in tables: {said}")
        found = list(_of_published(table, study))
    if not found:
        raise UsageError(f"{where}: no printed value of these tables, rows and setups")
    return found


def _of_published(table: Compared, study: Published) -> Iterator[Cell]:
    for row in study.rows:
        if table.tables and row.table not in table.tables:
            continue
        for setup in table.setups or study.setups:
            value, overhead = row.values.get(setup), row.overhead(setup)
            if value is None and overhead is None:
                continue
            benchmarks = ["/".join(pair) for pair in row.benchmarks]
            words: dict[str, str | list[str]] = {
                "row": table.names.get(row.name, row.name),
                "setup": table.names.get(setup, setup),
                "benchmarks": benchmarks,
                "benchmark": benchmarks[0] if benchmarks else "",
            }
            number = value if overhead is None else 100 * overhead
            text = f"{value:g} {row.unit}" if overhead is None else f"{100 * overhead:+.3g} %"
            scatter = f" sd {row.sd[setup]:g} {row.unit}" if setup in row.sd else ""
            size = f" n {row.n}" if row.n else ""
            mark = " (spurious)" if row.spurious else ""
            text += mark + (f" ({(scatter + size).strip()})" if scatter or size else "")
            title = study.setups.get(setup, setup)
            yield Cell(
                row.name, row.table, title, number, text, words, overhead is not None, row.note
            )


def _of_csv(table: Compared, home: Path, where: str) -> Iterator[Cell]:
    for line in read_csv(table.printed, home, where):
        label = ", ".join(dict.fromkeys(line.get(name) or "" for name in table.rows))
        for setup in table.setups:
            if setup not in line or not all(name in line for name in table.rows):
                raise UsageError(f"{where}: {table.printed} has the columns {', '.join(line)}")
            text = line[setup]
            if not text:
                continue
            words: dict[str, str | list[str]] = {
                name: table.names.get(value, value) for name, value in line.items()
            }
            words |= {"setup": table.names.get(setup, setup)}
            words["row"] = table.names.get(line[table.rows[0]], line[table.rows[0]])
            shown = f"{text} {table.unit}".strip()
            yield Cell(label, "", setup, _number(text, table.depth), shown, words)


def read_csv(name: str, home: Path, where: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file of printed values: of the folder, or of lsmeter."""
    own = beside(home / "study.toml", name, f"{where}.printed")
    if not own.is_file():
        own = HOME / name
    if not own.is_file():
        raise UsageError(f"{where}.printed: {home / name}: no such file")
    try:
        text = read_file(own, _MOST_BYTES, "printed values", where=where).decode()
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        found = list(csv.DictReader(lines, restkey="", restval="", strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{where}.printed: {own}: cannot read it: {error}") from None
    if len(found) > _MOST_ROWS or any("" in row for row in found):
        raise UsageError(f"{where}.printed: {own}: more columns than heads, or too many rows")
    return found


def _number(text: str, depth: int) -> float | None:
    """Return a printed count; 6d is six for each component of the path."""
    if depth and (found := _OF_PATH.fullmatch(text)):
        return float(int(found[1] or 1) * depth)
    try:
        return float(text)
    except ValueError:
        return None
