# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of what the modules said of themselves around each benchmark, as SELinux's AVC; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from lsmeter.evidence import Gauge, StateChange
from lsmeter.model import Benchmark
from lsmeter.report import numbers
from lsmeter.report.listing import Chapter, Column, Listing, names
from lsmeter.report.model import Report

_RULE = (
    "Read from the module before and after each benchmark. Counters: how far they went, for each "
    "reading of the benchmark, with what prepares and undoes it; over all boots. Others: before "
    "\N{RIGHTWARDS ARROW} after, in the boot where it was largest."
)
_SHORT = "Means over the variants of each operation; markdown and HTML have all."
_OF = "_of"  # `buckets_used_of` is what `buckets_used` is a part of


@dataclass
class _Around:
    """All that is known of one benchmark while it is collected, by state and name."""

    counters: dict[tuple[str, str], list[tuple[int, int]]] = field(default_factory=dict)
    gauges: dict[tuple[str, str], Gauge] = field(default_factory=dict)

    def add(self, item: StateChange) -> None:
        for counter in item.counters:
            moved = (counter.difference, item.readings)
            self.counters.setdefault((item.state, counter.name), []).append(moved)
        for gauge in item.gauges:
            self.keep((item.state, gauge.name), gauge)

    def keep(self, key: tuple[str, str], gauge: Gauge) -> None:
        """Keep the gauge that is largest afterwards."""
        known = self.gauges.setdefault(key, gauge)
        if gauge.after > known.after:
            self.gauges[key] = gauge


def chapter(report: Report, *, short: bool = False) -> Chapter:
    """Show the numbers of every setup that has any; short: one row for each operation."""
    places: dict[str, dict[Benchmark, _Around]] = {}
    for item in report.states:
        place = f"{item.setup} on {item.kernel} ({item.filesystem}, user {item.user})"
        around = places.setdefault(place, {})
        around.setdefault(item.benchmark, _Around()).add(item)
    listings = (_listing(place, around, short=short) for place, around in places.items())
    return Chapter("states", "State of the modules", _RULE, tuple(listings))


def _listing(place: str, around: dict[Benchmark, _Around], *, short: bool) -> Listing:
    groups = numbers.by_operation(around, lambda item: item)
    if short:
        rows = {name: _joined(around[item] for item in group) for name, group in groups.items()}
    else:
        rows = {item.id: around[item] for group in groups.values() for item in group}
    counters = list(dict.fromkeys(key for item in rows.values() for key in item.counters))
    gauges = list(
        dict.fromkeys(
            key for item in rows.values() for key in item.gauges if not _is_whole(key, item)
        )
    )
    columns = [*names("operation" if short else "benchmark")]
    columns += [Column(_head(key, [*counters, *gauges])) for key in (*counters, *gauges)]
    return Listing(
        place,
        tuple(columns),
        tuple(
            (
                name,
                *(_rate(item.counters.get(key, [])) for key in counters),
                *(_gauge(key, item.gauges) for key in gauges),
            )
            for name, item in rows.items()
        ),
        lead=(_SHORT,) if short else (),
    )


def _joined(items: Iterable[_Around]) -> _Around:
    found = _Around()
    for item in items:
        for key, moved in item.counters.items():
            found.counters.setdefault(key, []).extend(moved)
        for key, gauge in item.gauges.items():
            found.keep(key, gauge)
    return found


def _is_whole(key: tuple[str, str], item: _Around) -> bool:
    state, name = key
    return name.endswith(_OF) and (state, name.removesuffix(_OF)) in item.gauges


def _head(key: tuple[str, str], keys: Sequence[tuple[str, str]]) -> str:
    state, name = key
    text = name.replace("_", " ")
    return text if sum(other == name for _, other in keys) == 1 else f"{state} {text}"


def _rate(moved: Iterable[tuple[int, int]]) -> str:
    """Write how far a counter went in each reading."""
    found = list(moved)
    readings = sum(count for _, count in found)
    if not readings:
        return numbers.MISSING
    rate = sum(difference for difference, _ in found) / readings
    if rate == 0 or rate.is_integer():
        return f"{rate:,.0f}"
    if abs(rate) < 0.01:
        return "<0.01" if rate > 0 else ">-0.01"
    return f"{rate:,.2f}" if abs(rate) < 100 else f"{rate:,.1f}"


def _gauge(key: tuple[str, str], gauges: dict[tuple[str, str], Gauge]) -> str:
    state, name = key
    gauge = gauges.get(key)
    if gauge is None:
        return numbers.MISSING
    whole = gauges.get((state, name + _OF))
    text = f"{gauge.after:,}" + (f"/{whole.after:,}" if whole is not None else "")
    if gauge.before is None or gauge.before == gauge.after:
        return text
    return f"{gauge.before:,}\N{RIGHTWARDS ARROW}{text}"
