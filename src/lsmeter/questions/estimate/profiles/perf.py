# SPDX-License-Identifier: GPL-2.0-or-later
"""The summary that `perf trace -s` (or -S) prints, thread by thread; read strictly, and pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lsmeter.core.errors import UsageError
from lsmeter.questions.estimate.profiles.model import Calls, Profile, added

_BEGIN = "Summary of events:"
_HEADS = re.compile(r"   syscall +calls +(errors +)?total +min +avg +max +stddev")
_UNITS = re.compile(r" +(\([^()]{1,6}\) *)+")
_RULER = re.compile(r"   -+( +-+)+")
_ROW = re.compile(
    r"   (?P<name>[a-z_][a-z0-9_]{0,63}) +(?P<calls>[0-9]{1,15})(?: +(?P<errors>[0-9]{1,15}))?"
    r" +(?P<ms>[0-9]{1,12}[.,][0-9]{3})(?: +[0-9]{1,12}[.,][0-9]{3}){3} +(?:[0-9.,]{1,12}|-?nan)%"
)
_ERRNO = re.compile(r"\t+[A-Z0-9]{1,30}: [0-9]{1,15}")
_SHARE = re.compile(r" .{1,200}, [0-9]{1,15} events, ([0-9]{1,3}[.,][0-9])%.{0,100}")
_WHOLE = re.compile(
    r" .{0,200}(?:thread \([0-9]{1,10}\)|total|cgroup .{1,200}), +[0-9]{1,15} events.{0,100}"
)
_TIME = re.compile(r" *([0-9]{1,12}[.,][0-9]{3}) \(")  # of a call, in ms since the first
_LOST = re.compile(r"LOST ([0-9]{1,15}) events!")
_MOST_ROWS = 1_000_000
_LEAST_SHARE, _ROUNDED = 90.0, 0.05
_HINT = "write it anew: perf trace -s -o FILE -p PID -- sleep 10"


def is_summary(lines: Sequence[str]) -> bool:
    """Tell whether a file has a summary of `perf trace`."""
    return any(line.strip() == _BEGIN for line in lines)


def parse(lines: Sequence[str], where: str) -> Profile:
    """Add up all threads; raise UsageError for a summary that is cut off or not as perf has it."""
    begin = next(n for n, line in enumerate(lines) if line.strip() == _BEGIN)
    if lost := sum(int(one[1]) for line in lines if (one := _LOST.fullmatch(line.rstrip()))):
        raise UsageError(
            f"{where}: perf lost {lost} events: fewer calls are in it than were made",
            hint="write it anew with more room: perf trace -s -m 64M -o FILE -p PID -- sleep 10",
        )
    found: list[Calls] = []
    shares: list[float] = []
    tables = 0
    reader = iter(enumerate(lines[begin + 1 :], begin + 2))
    for number, line in reader:
        if not line.strip():
            continue
        share = _SHARE.fullmatch(line)
        if share is None and not _WHOLE.fullmatch(line):
            raise _wrong(where, number, line)
        shares += [_decimal(share[1])] if share else []
        found += _table(reader, where)
        tables += 1
        if len(found) > _MOST_ROWS:
            raise UsageError(f"{where}: more than {_MOST_ROWS} lines of system calls")
    covered = sum(shares) + _ROUNDED * len(shares)
    if not tables or (shares and covered < _LEAST_SHARE):
        said = (
            f"its threads have {sum(shares):.0f} % of all events" if tables else "it has no table"
        )
        raise UsageError(f"{where}: {said}: the file is cut off", hint=_HINT)
    clock = "wall time, waiting included"
    calls = added(found)
    # Older versions of perf have no column of errors.
    heads = [line for line in lines[begin:] if _HEADS.fullmatch(line.rstrip())]
    known = all("errors" in line.split() for line in heads)
    unknown = frozenset() if known else frozenset(item.name for item in calls)
    seconds = _seconds(lines[:begin])
    return Profile("perf trace -s", calls, clock, seconds, tables, errors_unknown=unknown)


def _table(reader: Iterator[tuple[int, str]], where: str) -> Iterator[Calls]:
    """Read one thread's table up to the empty line behind it."""
    state = 0  # of the head: an empty line, heads, units, ruler
    for number, line in reader:
        if state == 0 and not line.strip():
            continue
        if state < 3:
            heads = (_HEADS, _UNITS, _RULER)[state]
            if not heads.fullmatch(line.rstrip()):
                raise _wrong(where, number, line)
            state += 1
        elif not line:
            return
        elif row := _ROW.fullmatch(line.rstrip()):
            yield _calls(row, f"{where}:{number}")
        elif not _ERRNO.fullmatch(line):
            if next(reader, None) is None:
                break
            raise _wrong(where, number, line)
    raise UsageError(f"{where}: the last table does not end: the file is cut off", hint=_HINT)


def _calls(row: re.Match[str], where: str) -> Calls:
    calls, errors = int(row["calls"]), int(row["errors"] or 0)
    if errors > calls:
        raise UsageError(f"{where}: {row['name']}: more errors ({errors}) than calls ({calls})")
    return Calls(row["name"], calls, errors, _decimal(row["ms"]) / 1000)


def _decimal(text: str) -> float:
    return float(text.replace(",", "."))  # a comma in some locales


def _seconds(lines: Sequence[str]) -> float | None:
    """Return when the last call began, of a file that has the calls as well (-S)."""
    times = [_decimal(found[1]) for line in lines[-1000:] if (found := _TIME.match(line))]
    return max(times) / 1000 if times and max(times) > 0 else None


def _wrong(where: str, number: int, line: str) -> UsageError:
    said = f"{where}:{number}: not a line of perf's summary: {line.strip()[:60]!r}"
    return UsageError(said, hint=_HINT)
