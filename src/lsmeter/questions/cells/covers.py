# SPDX-License-Identifier: GPL-2.0-or-later
"""What a verdict `equivalent` leaves out, computed from what was measured; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from lsmeter.core.groups import grouped
from lsmeter.core.model.conclusion import Comparison, Verdict
from lsmeter.measure.instruments import Words
from lsmeter.statistics.estimate import rarest


def left_out(found: Iterable[Comparison], words: Words, services: Collection[str] = ()) -> str:
    """Say which costs may hide where nothing is slower; nothing where no verdict says so.

    services are the suites whose benchmarks are not of calls.
    """
    parts = grouped(
        (item.place.suite in services, item) for item in found if not item.benchmark.control
    )
    said = []
    for served, mine in sorted(parts.items()):
        same = [item.cycles for item in mine if item.verdict is Verdict.EQUIVALENT]
        if same:
            said.append(left_out_of_services(same) if served else _of_calls(mine, same, words))
    return "; ".join(said)


def _of_calls(found: Iterable[Comparison], cycles: Iterable[int], words: Words) -> str:
    named: dict[str, int] = {}
    for kind in (item.benchmark for item in found):
        if isinstance(length := dict(kind.params).get("name"), int):
            named[kind.operation] = max(length, named.get(kind.operation, 0))
    lengths = sorted({*named.values()})
    known = f" (of {', '.join(named)}: than {lengths[-1]} characters)" if named else ""
    later = "" if words.repeats else " of deferred work,"
    return (
        f"costs rarer than once in {once_in(cycles)} "
        f"{'cycles' if words.repeats else 'calls'},{later} of a process's first calls, of longer "
        f"names{known}, of further CPUs"
    )


def left_out_of_services(units: Iterable[int]) -> str:
    """Say the same of services, of which so many units were counted each."""
    return (
        f"costs rarer than once in {once_in(units)} units, of a service's start, of longer names "
        "and paths, of further CPUs"
    )


def once_in(cycles: Iterable[int]) -> str:
    """Write how rare a cost may be to be met for certain in so many cycles."""
    each = sorted({rarest(count) for count in cycles})
    return f"{each[0]:,}" if len(each) == 1 else f"{each[0]:,} to {each[-1]:,}"
