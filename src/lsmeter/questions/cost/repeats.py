# SPDX-License-Identifier: GPL-2.0-or-later
"""Which typical counts do not repeat from boot to boot, and by how much; pure."""

from __future__ import annotations

from collections.abc import Iterator

from lsmeter.core.groups import grouped
from lsmeter.core.model.conclusion import Estimate
from lsmeter.questions.cost.model import Report
from lsmeter.statistics.estimate import LEAST_SHARE
from lsmeter.tables import numbers
from lsmeter.tables.values import change, count, many, percent

_NAMED = 4  # of the benchmarks that do not repeat
_WHY = "boots vary the order of benchmarks and where objects lie in slabs"
# On ext4 what differs between two boots is __find_get_block, which searches a list.
_BUFFERS = ", and how far back a block of ext4 stands in the CPU's list of buffers"


def by_boot(item: Estimate) -> str:
    """Say which boots have another typical count, and by how much; or why it does not repeat."""
    peaks = item.evidence.by_boot
    most = max((peak.share for peak in peaks), default=1.0)
    if most < LEAST_SHARE:
        share = percent(most, sign=False)
        return (
            f"no stable count within a boot: the most frequent is {share} of its readings, "
            f"{count(item.low)} to {count(item.high)}"
        )
    boots = grouped((peak.value, str(peak.boot)) for peak in peaks)
    usual = max(boots, key=lambda value: len(boots[value]), default=0)
    return ", ".join(
        f"{count(value) if value == usual else change(value - usual)} in "
        f"{'boot' if len(boots[value]) == 1 else 'boots'} {', '.join(boots[value])}"
        for value in sorted(boots, key=lambda value: value != usual)
    )


def between_boots(report: Report, *, short: bool) -> Iterator[str]:
    """Name the benchmarks whose typical counts differ most between boots, and say how."""
    if not report.words.repeats:
        return
    if report.estimates and all(item.evidence.boots == 1 for item in report.estimates):
        yield "one boot of each setup: nothing shows whether counts repeat."
        return
    odd = [item for item in report.estimates if item.evidence.boots > 1 and item.high > item.low]
    odd.sort(key=lambda item: (item.low - item.high) / abs(item.centre or 1))
    # Each benchmark once, where it is worst.
    worst: dict[str, Estimate] = {}
    for item in odd:
        worst.setdefault(item.benchmark.id, item)
    texts = [
        name if short else f"{name} under {item.place.setup} ({by_boot(item)})"
        for name, item in list(worst.items())[:_NAMED]
    ]
    if len(worst) > _NAMED:
        texts.append(f"{len(worst) - _NAMED:,} more by less")
    if texts:
        on_disk = any(item.place.filesystem.startswith("ext") for item in odd)
        why = "" if short else f" ({numbers.UNREPEATED_MARK}; {_WHY}{_BUFFERS * on_disk})"
        counts = f"typical counts of {many(len(worst), 'benchmark')} do not repeat"
        yield f"{counts}{why}: {(', ' if short else '; ').join(texts)}."
