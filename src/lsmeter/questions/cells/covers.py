# SPDX-License-Identifier: GPL-2.0-or-later
"""What a verdict `equivalent` leaves out, computed from what was measured; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from lsmeter.core.model.conclusion import Comparison, Verdict
from lsmeter.measure.instruments import Words
from lsmeter.statistics.estimate import rarest


def left_out(found: Iterable[Comparison], words: Words, services: Collection[str] = ()) -> str:
    """Say which costs may hide where nothing is slower; nothing where no verdict says so.

    services are the suites whose benchmarks are not of calls.
    """
    found = [item for item in found if not item.benchmark.control]
    served = [item for item in found if item.place.suite in services]
    calls = [item for item in found if item.place.suite not in services]
    return "; ".join((*_of_calls(calls, words), *_of_services(served)))


def _of_services(found: Iterable[Comparison]) -> Iterator[str]:
    if same := [item for item in found if item.verdict is Verdict.EQUIVALENT]:
        yield left_out_of_services(item.cycles for item in same)


def _of_calls(found: Iterable[Comparison], words: Words) -> Iterator[str]:
    found = list(found)
    same = [item for item in found if item.verdict is Verdict.EQUIVALENT]
    if not same:
        return
    named: dict[str, int] = {}
    for kind in (item.benchmark for item in found):
        if isinstance(length := dict(kind.params).get("name"), int):
            named[kind.operation] = max(length, named.get(kind.operation, 0))
    lengths = sorted({*named.values()})
    known = f" (of {', '.join(named)}: than {lengths[-1]} characters)" if named else ""
    later = "" if words.repeats else " of deferred work,"
    yield (
        f"costs rarer than once in {once_in(item.cycles for item in same)} "
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
