# SPDX-License-Identifier: GPL-2.0-or-later
"""What a report of times says of its statistics: correction, A/A control, moved controls; pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator

from lsmeter.core.groups import grouped
from lsmeter.core.model.conclusion import Comparison, Difference, Tests, Verdict
from lsmeter.questions.cost.model import Report
from lsmeter.statistics.family import ALPHA
from lsmeter.tables.values import many, percent, some

MOVED = frozenset({Verdict.SLOWER, Verdict.FASTER})
_NAMED = 4
_UNKNOWN = 100.0  # half of an interval, as a fraction, that tells nothing
_CHANCE = f"{ALPHA * 100:.0f} %"


def _tested(found: Iterable[Comparison]) -> list[tuple[Comparison, Tests]]:
    return [(item, item.tests) for item in found if item.tests is not None]


def statements(report: Report) -> Iterator[str]:
    """Say how the verdicts were corrected, and what the A/A control shows."""
    found = _tested(report.comparisons)
    if not found:
        return
    how = "paired by block" if found[0][1].together else "of two runs, not paired"
    looks = report.looks
    if looks is not None:
        blocks = max(tests.blocks for _, tests in found)
        at = ", ".join(map(str, looks.until(blocks)))
        how += f"; looked at after {at} blocks of at most {looks.most}, each look with its share"
    yield (
        f"{many(len(found), 'comparison')}, corrected for all of them (Holm): one false verdict or "
        f"more in at most {_CHANCE}. Intervals {report.level}, {how}."
    )
    if said := alarms(report):
        yield said


def alarms(report: Report) -> str:
    """Say how often the baseline differs from itself; nothing where it was not measured twice."""
    found = _tested(report.again)
    if not found:
        return ""
    before = sum(tests.p <= ALPHA for _, tests in found)
    after = [item for item, _ in found if item.found is Difference.SEEN]
    decided = (item.decided for item, _ in found)
    halves = [(change.overhead_high - change.overhead_low) / 2 for change in decided]
    half = statistics.median(halves)
    known = f"half an interval is {percent(half, sign=False)} (median)"
    text = f"{len(after)} after it ({_names(after)})" if after else "none after it"
    return (
        f"A/A control, {report.baseline_setup} against itself: {before} of {len(found)} differ "
        f"before correction ({_CHANCE} would by chance, though benchmarks of a block move "
        f"together), {text}; "
        f"{known if half < _UNKNOWN else 'too few blocks for intervals'}."
    )


def needed(found: Iterable[Comparison]) -> str:
    """Say how many more blocks open comparisons would take; nothing where none can be told."""
    known = sorted(
        tests.more_blocks
        for item, tests in _tested(found)
        if item.verdict is Verdict.INCONCLUSIVE and tests.more_blocks
    )
    if not known:
        return ""
    least, middle, most = (f"{known[at]:,}" for at in (0, (len(known) - 1) // 2, -1))
    if len(known) == 1:
        return f"about {least} more"
    return f"about {least} more for the nearest, {middle} for half of them, {most} for all"


def moved(
    found: Iterable[Comparison], again: Iterable[Comparison], every_call: Iterable[str]
) -> Iterator[str]:
    """Say of controls that moved that no verdict is to be trusted; setups of every_call may.

    So does a baseline that differs from itself after correction.
    """
    setups = frozenset(every_call)
    controls = grouped(
        (item.benchmark.id, item)
        for item in found
        if item.benchmark.control and item.tests and item.verdict in MOVED
        if not (item.place.setup in setups and item.benchmark.cycle)
    )
    for name, items in controls.items():
        said = ", ".join(f"{percent(item.overhead)} under {item.place.setup}" for item in items)
        yield (
            f"the control {name} moved ({said}), which no setup can do: something else differed, "
            "and may be in any number."
        )
    differ = [item for item in again if item.found is Difference.SEEN and item.verdict in MOVED]
    if differ:
        yield f"the baseline differs from itself in {_names(differ)}: this host is not steady."


def _names(found: list[Comparison]) -> str:
    return some((f"{item.benchmark.id} {percent(item.overhead)}" for item in found), _NAMED)
