# SPDX-License-Identifier: GPL-2.0-or-later
"""Printed values of studies, to stand beside a run's own: TOML files of lsmeter or of a user.

`lsmeter help published` describes the keys. Nothing here is measured, and nothing is computed but a
printed change from printed values.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from lsmeter.core.errors import UsageError
from lsmeter.core.registry import unknown
from lsmeter.core.toml_file import checked, read_toml

SUFFIX = ".toml"
HOME = Path(__file__).parent
_HINT = "every key: lsmeter help published"
_BENCHMARK = re.compile(r"([a-z][a-z0-9-]{0,49}): ([ -~]{1,100})")

_Text = Annotated[str, Field(min_length=1, max_length=300)]
_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9.-]{0,39}$")]
_Number = Annotated[float, Field(ge=-1e15, le=1e15, allow_inf_nan=False)]
_Numbers = dict[_Name, _Number]


@dataclass(frozen=True)
class Row:
    """One printed row: by setup, values in a unit, or changes in per cent (+ is worse).

    benchmarks are ours, by suite and id: one, or several whose sum the row is. spurious is what
    the study itself says of a change: that it lies within the scatter of its runs.
    """

    name: str
    table: str = ""
    benchmarks: tuple[tuple[str, str], ...] = ()
    unit: str = ""
    better: str = "lower"
    baseline: float | None = None
    baseline_sd: float | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    sd: Mapping[str, float] = field(default_factory=dict)
    printed_percent: Mapping[str, float] = field(default_factory=dict)
    note: str = ""
    spurious: bool = False
    n: int | None = None  # readings of each value

    def overhead(self, setup: str) -> float | None:
        """Return the change to the baseline as a fraction, positive is worse; None without one.

        It is what was printed, and that of the printed values where no change was.
        """
        printed = self.printed_percent.get(setup)
        return self.computed(setup) if printed is None else printed / 100

    def computed(self, setup: str) -> float | None:
        """Return the change that the printed values have; None without both."""
        value = self.values.get(setup)
        if value is None or not self.baseline:
            return None
        change = value / self.baseline - 1
        return -change if self.better == "higher" else change

    def scatter(self, setup: str) -> tuple[float, float] | None:
        """Return the standard deviations of baseline and setup as fractions of their means."""
        value, sd = self.values.get(setup), self.sd.get(setup)
        if not value or sd is None or not self.baseline or self.baseline_sd is None:
            return None
        return self.baseline_sd / self.baseline, sd / value


@dataclass(frozen=True)
class Published:
    """The printed values of one study, and what they were measured on."""

    name: str
    title: str
    source: str
    kernel: str
    hardware: str
    instrument: str  # time, cycles, ...
    setups: Mapping[str, str]
    rows: tuple[Row, ...]
    url: str = ""
    baseline: str = ""  # "": there is none, and so no overhead
    note: str = ""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class _Row(_Table):
    name: _Text
    table: _Text | Literal[""] = ""
    benchmarks: Annotated[list[_Text], Field(max_length=8)] = []
    unit: _Text | Literal[""] = ""
    better: Literal["lower", "higher"] = "lower"
    baseline: _Number | None = None
    baseline_sd: _Number | None = None
    values: _Numbers = {}
    sd: _Numbers = {}
    printed_percent: _Numbers = {}
    note: _Text | Literal[""] = ""
    spurious: bool = False
    n: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None


class _File(_Table):
    title: _Text
    source: _Text
    kernel: _Text
    hardware: _Text
    instrument: _Text
    url: _Text | Literal[""] = ""
    baseline: _Text | Literal[""] = ""
    note: _Text | Literal[""] = ""
    setups: Annotated[dict[_Name, _Text], Field(min_length=1, max_length=32)]
    rows: Annotated[list[_Row], Field(min_length=1, max_length=1000)]


def published_names() -> tuple[str, ...]:
    """Return the names of the studies that come with lsmeter."""
    return tuple(sorted(path.stem for path in HOME.glob(f"*{SUFFIX}")))


def printed_rows(name: str) -> tuple[dict[str, str], ...]:
    """Read a table of a study as CSV; its first lines, which begin with #, name the source."""
    text = HOME.joinpath(name).read_text("utf-8")
    return tuple(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


def find_published(word: str, where: str = "--beside") -> Published:
    """Return a study by its name, or what a user's file has; UsageError says what is wrong.

    where: which option, or which key of a file, names it.
    """
    if "/" in word or word.endswith(SUFFIX):
        return _read(Path(word), where)
    if word not in published_names():
        raise unknown("study", word, published_names(), where=where)
    return _read(HOME / f"{word}{SUFFIX}", where)


def _read(path: Path, where: str) -> Published:
    data = read_toml(path, "printed values", hint=_HINT, where=where, missing="no such file")
    named = f"{where}: {path}"
    found = checked(_File, data, where=named, hint=_HINT)
    for number, row in enumerate(found.rows, 1):
        if said := next(_off(row, found), ""):
            raise UsageError(f"{named}: rows.{number} ({row.name}): {said}", hint=_HINT)
    rows = tuple(_row(item) for item in found.rows)
    top = {key: value for key, value in found if key != "rows"}
    return Published(name=path.name.removesuffix(SUFFIX), **{**top, "rows": rows})


def _off(row: _Row, of: _File) -> Iterator[str]:
    """Say what is wrong with a row that has the right keys."""
    for key in ("values", "sd", "printed_percent"):
        for setup in getattr(row, key).keys() - of.setups.keys():
            yield f"{key}: '{setup}' is no setup of the file"
    if not row.values and not row.printed_percent:
        yield "it has neither values nor printed_percent"
    if row.values and not row.unit:
        yield "values without a unit"
    if row.baseline is not None and not of.baseline:
        yield "a baseline, and the file does not name one"
    for name in row.benchmarks:
        if not _BENCHMARK.fullmatch(name):
            yield f"benchmarks: '{name}' is not SUITE: BENCHMARK"


def _row(item: _Row) -> Row:
    pairs = (_BENCHMARK.fullmatch(name) for name in item.benchmarks)
    benchmarks = tuple((found[1], found[2]) for found in pairs if found)
    return Row(**{**dict(item), "benchmarks": benchmarks})
