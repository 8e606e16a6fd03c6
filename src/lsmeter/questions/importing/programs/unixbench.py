# SPDX-License-Identifier: GPL-2.0-or-later
"""UnixBench 5 and 6: the text report of `./Run`, results/HOST-DATE-NN (no .log, no .html).

It has a part for each number of copies, which ends with the index score.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsmeter.core.model import Better
from lsmeter.questions.importing import ForeignError, Format, Parsed, Reading, benchmark, number

_HEAD = re.compile(r"^[ \t]*+BYTE UNIX Benchmarks \(Version ([0-9][^)]{0,20})\)", re.MULTILINE)
_SYSTEM = re.compile(r"^[ \t]*+OS: .* -- (\S+) -- ", re.MULTILINE)
_PART = re.compile(r"running ([0-9]{1,6}) parallel cop(?:y|ies) of tests")
_RESULT = re.compile(r"(.+?) ([0-9.]+) (\S+) \([0-9.]+ s, [0-9]+ samples\)")  # single blanks
# With the end of its line: a number that is cut is another number.
_SCORE = re.compile(r"System Benchmarks Index Score( \(Partial Only\))?[ \t]*+([0-9.]++)\n")
_SUITE = "unixbench"


def parse(text: str, system: str) -> Parsed:
    """Read a report; ForeignError with what is wrong with it."""
    if system:
        raise ForeignError("--system: a report of UnixBench is of one system")
    head = _HEAD.search(text)
    if head is None:
        raise ForeignError("it is no report of UnixBench: no line 'BYTE UNIX Benchmarks (Version'")
    parts = _PART.split(text)[1:]
    if len(parts) != 2 * text.count("Benchmark Run: ") or not parts:
        raise ForeignError("it is cut short: a run without tests")
    found: list[Reading] = []
    for copies, part in zip(parts[::2], parts[1::2], strict=True):
        score = _SCORE.search(part)
        if score is None:
            raise ForeignError(
                f"it is cut short: no index score of the tests with {copies} copies in parallel"
            )
        found += _part(int(copies), part[: score.start()])
        title = "Partial index score" if score[1] else "Index score"
        found.append(_reading(title, "index", score[2], int(copies)))
    release = _SYSTEM.search(text)
    return Parsed(tuple(found), head[1], release[1] if release else "")


def _part(copies: int, text: str) -> Iterator[Reading]:
    for line in text.splitlines():
        if match := _RESULT.fullmatch(" ".join(line.split())):
            yield _reading(match[1], match[3], match[2], copies)


def _reading(title: str, unit: str, value: str, copies: int) -> Reading:
    kind = benchmark(_SUITE, title, unit, Better.HIGHER, params=(("copies", copies),))
    return Reading(kind, (number(value),))


FORMAT = Format(
    name="unixbench",
    title="UnixBench 5 and 6: results/HOST-DATE-NN",
    covers="UnixBench leaves out the worst third of its iterations, and prints the geometric mean "
    "of the others",
    parse=parse,
)
