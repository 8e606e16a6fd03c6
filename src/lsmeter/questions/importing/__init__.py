# SPDX-License-Identifier: GPL-2.0-or-later
"""Results of other programs as runs: what a format is, and what it makes of a file; pure.

A format is one file in `programs/`. It says what each number is called, its unit and which
direction is better, and refuses what is not whole.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from lsmeter.core import registry
from lsmeter.core.errors import UsageError
from lsmeter.core.model import Benchmark, Better, Metric

MOST_READINGS = 5000  # of a file; no program of these prints as many
_MOST_DIGITS = 15
_NAME = re.compile(r"[^a-z0-9/._+-]+")
_LONGEST = 60
_DIGEST = 7  # hex digits, of a name that is cut


class ForeignError(UsageError):
    """A file is not what the format says, or not all of it."""


@dataclass(frozen=True)
class Reading:
    """What a file says of one benchmark: its values as they are printed, in their order."""

    benchmark: Benchmark
    values: tuple[Decimal, ...]


@dataclass(frozen=True)
class Parsed:
    """What a file says: readings, the program's version, the kernel's release; "" where unknown."""

    readings: tuple[Reading, ...]
    version: str = ""
    release: str = ""
    system: str = ""
    left_out: tuple[str, ...] = ()  # what of the file is no number, in words for people


@dataclass(frozen=True)
class Format:
    """One program's results; parse gets the text and which system of several is wanted."""

    name: str
    title: str
    covers: str  # what its numbers leave out, in words for people
    parse: Callable[[str, str], Parsed]


@functools.cache
def formats() -> Mapping[str, Format]:
    """Return all formats by name."""
    found = registry.members("lsmeter.questions.importing.programs", "FORMAT", Format)
    return {item.name: item for item in found}


def find_format(name: str) -> Format:
    """Return the format called `name`; UsageError names the known ones when there is none."""
    return registry.find("format", name, formats(), where="FORMAT")


def number(text: str) -> Decimal:
    """Read a number above 0 as it is printed; ForeignError for anything else."""
    try:
        found = Decimal(text)
    except InvalidOperation:
        found = Decimal(0)
    digits, exponent = found.as_tuple()[1:] if found.is_finite() else ((), 0)
    if not found.is_finite() or found <= 0 or len(digits) + abs(int(exponent)) > _MOST_DIGITS:
        raise ForeignError(f"'{text[:40]}' is no number above 0")
    return found


def benchmark(
    suite: str,
    title: str,
    unit: str,
    better: Better,
    *,
    operation: str = "",
    params: tuple[tuple[str, str | int], ...] = (),
) -> Benchmark:
    """Describe a benchmark of another program; its operation is its title in plain letters."""
    named = plain(operation or title)
    kind = Metric("latency" if better is Better.LOWER else "throughput", unit, better)
    return Benchmark(suite, named, params, kind, f"{title} [{unit}]", suite)


def plain(text: str) -> str:
    """Write a name as benchmarks have it: small letters, no blanks; a long one has a digest."""
    name = _NAME.sub("-", text.lower()).strip("-") or "unnamed"
    if len(name) <= _LONGEST:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]
    return f"{name[: _LONGEST - 1 - _DIGEST]}-{digest}"
