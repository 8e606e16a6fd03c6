# SPDX-License-Identifier: GPL-2.0-or-later
"""What a document says for continuous integration: a result for each test; pure.

Formats of CI show these. Names keep from run to run, so that a history of them can be drawn: the
kernel is part of one only where there are several.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from lsmeter.core.model import Kernel, Place


class Status(StrEnum):
    """What came of a test."""

    FAILED = "failed"
    MISSING = "missing"  # it has no number
    PASSED = "passed"
    MEASURED = "measured"  # a number that nothing was held against
    SKIPPED = "skipped"  # not known well enough, or nothing to hold it against


@dataclass(frozen=True)
class Quantity:
    """A finite number, its unit, and its bounds where they are known."""

    name: str  # typical
    value: float
    unit: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Result:
    """What came of one test: of a benchmark in a place, or of what alone is named of one.

    said is one line, log the end of one.
    """

    status: Status
    place: Place
    benchmark: str
    said: str
    quantities: tuple[Quantity, ...] = ()
    log: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    """A rule of a gate with its results; unjudged says why nothing was held against it."""

    name: str
    limit: str
    items: tuple[Result, ...]
    unjudged: str = ""


@dataclass(frozen=True)
class Results:
    """All results of a document, with the kernels that they are of; rules only of a gate."""

    items: tuple[Result, ...]
    kernels: tuple[Kernel, ...]
    created: str  # ISO 8601, UTC
    rules: tuple[Rule, ...] = ()

    def where(self, item: Result) -> tuple[str, ...]:
        """Name the place of a result, the kernel only where there are several."""
        kernel, *rest = item.place.beside
        names = (item.place.setup, kernel if len(self.kernels) > 1 else "", *rest)
        return tuple(filter(None, names))

    def name(self, item: Result) -> str:
        """Name a result in one line: open depth=4, selinux, file, tmpfs, root."""
        return ", ".join(filter(None, (item.benchmark, *self.where(item)))) or "lsmeter"


COMMANDS = ("run", "exec", "report", "compare", "gate")  # whose documents have results


def distinct(names: Iterable[str], most: int, mark: str = "-") -> Iterator[str]:
    """Yield names that differ, of at most so many characters: equal ones get a number.

    Of what is cut a digest keeps it apart from others.
    """
    taken: set[str] = set()
    for name in names:
        digest = hashlib.sha256(name.encode()).hexdigest()[:12]
        short = name if len(name) <= most else f"{name[: most - 13]}{mark}{digest}"
        found, number = short, 1
        while found in taken:
            number += 1
            end = f"{mark}{number}"
            found = f"{short[: most - len(end)]}{end}"
        taken.add(found)
        yield found
