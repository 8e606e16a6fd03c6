# SPDX-License-Identifier: GPL-2.0-or-later
"""The summary that `strace -c` prints, whatever columns it has; read strictly, and pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from lsmeter.core.errors import UsageError
from lsmeter.questions.estimate.profiles.model import Calls, Profile, added

_COLUMNS = ("%time", "seconds", "usecs/call", "calls", "errors", "syscall", "shortest", "longest")
_RULER = re.compile(r"-+( -+)*")
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,63}")
_WHOLE = re.compile(r"[0-9]{1,15}")
_DECIMAL = re.compile(r"[0-9]{1,12}[.,][0-9]{1,9}")  # a comma in some locales
_MOST_ROWS = 4096
_TOTAL = "total"
_RAGGED = frozenset({"syscall", "errors"})  # columns that need not be filled to their end
_HINT = "write it anew: strace -c -f -o FILE -p PID, or with a program"


def is_summary(lines: Sequence[str]) -> bool:
    """Tell whether a file has a table of `strace -c`."""
    return next(_tables(lines), None) is not None


def parse(lines: Sequence[str], where: str) -> Profile:
    """Read all tables; raise UsageError for one that is cut off, or is not as strace writes it."""
    found: list[Calls] = []
    tables = 0
    timed = True
    unknown: set[str] = set()
    for head in _tables(lines):
        columns = _heads(lines[head])
        if "calls" not in columns:
            raise UsageError(
                f"{where}:{head + 1}: the summary has no column of calls",
                hint="with --summary-columns name calls as well: name,calls,errors,total-time",
            )
        timed = timed and "seconds" in columns
        rows = [*_table(lines, head, columns, where)]
        found += rows
        unknown |= set() if "errors" in columns else {row.name for row in rows}
        tables += 1
    clock = "system time, or wall time with strace -w" if timed else ""
    return Profile(
        "strace -c", added(found), clock, tables=tables, errors_unknown=frozenset(unknown)
    )


def _tables(lines: Sequence[str]) -> Iterator[int]:
    """Yield where tables begin: a line of known heads above a ruler."""
    for number, line in enumerate(lines[:-1]):
        heads = _heads(line)
        ruler = lines[number + 1].rstrip()
        known = len(heads) == len({*heads} & {*_COLUMNS})
        if known and "syscall" in heads and _RULER.fullmatch(ruler):
            yield number


def _heads(line: str) -> list[str]:
    return line.replace("% time", "%time").split()


def _table(lines: Sequence[str], head: int, columns: Sequence[str], where: str) -> Iterator[Calls]:
    ruler = lines[head + 1].rstrip()
    spans = [match.span() for match in re.finditer("-+", ruler)]
    if len(spans) != len(columns):
        raise UsageError(
            f"{where}:{head + 2}: the line below the heads has not as many", hint=_HINT
        )
    calls = 0
    for number in range(head + 3, min(len(lines), head + 4 + _MOST_ROWS) + 1):
        line = lines[number - 1]
        if line.rstrip() == ruler:
            last = lines[number] if number < len(lines) else ""
            # Numbers end where their columns do: a line that ends before was cut.
            if _TOTAL not in last.split() or (
                columns[-1] not in _RAGGED and len(last.rstrip()) < len(ruler)
            ):
                break
            total = _cells(last, spans, columns, f"{where}:{number + 1}")
            if total["syscall"] != _TOTAL or total.get("calls") != str(calls):
                said = f"the total is not that of the lines above it ({calls} calls)"
                raise UsageError(f"{where}:{number + 1}: {said}", hint=_HINT)
            return
        if number == len(lines):  # whatever it is, a total had to follow
            break
        if number - head > _MOST_ROWS:
            raise UsageError(f"{where}: more than {_MOST_ROWS} system calls in one table")
        cells = _cells(line, spans, columns, f"{where}:{number}")
        one = _calls(cells, f"{where}:{number}")
        calls += int(one.calls)
        yield one
    said = "the summary ends before its total: the file is cut off"
    raise UsageError(f"{where}: {said}", hint=_HINT)


def _cells(
    line: str, spans: Sequence[tuple[int, int]], columns: Sequence[str], where: str
) -> dict[str, str]:
    """Return the words of a line by their columns; where one is empty, by where they stand."""
    words = [*re.finditer(r"\S+", line)]
    if len(words) == len(columns):  # a number too wide for its column moves those behind it
        return {column: word[0] for column, word in zip(columns, words, strict=True)}
    found: dict[str, str] = {}
    for word in words:
        shared = [min(word.end(), end) - max(word.start(), start) for start, end in spans]
        column = columns[shared.index(max(shared))]
        if max(shared) <= 0 or column in found:
            raise _wrong(line, where)
        found[column] = word[0]
    if "syscall" not in found:
        raise _wrong(line, where)
    return found


def _calls(cells: Mapping[str, str], where: str) -> Calls:
    name, calls, errors = cells["syscall"], cells.get("calls", ""), cells.get("errors", "0")
    seconds = cells.get("seconds")
    numbers = all(map(_WHOLE.fullmatch, (calls, errors)))
    if not (_NAME.fullmatch(name) and numbers and (seconds is None or _DECIMAL.fullmatch(seconds))):
        raise _wrong(" ".join(cells.values()), where)
    if int(errors) > int(calls):
        raise UsageError(f"{where}: {name}: more errors ({errors}) than calls ({calls})")
    time_s = None if seconds is None else float(seconds.replace(",", "."))
    return Calls(name, int(calls), int(errors), time_s)


def _wrong(line: str, where: str) -> UsageError:
    said = f"{where}: not a line of the summary: {line.strip()[:60]!r}"
    return UsageError(said, hint=_HINT)
