# SPDX-License-Identifier: GPL-2.0-or-later
"""What guests showed beside the measurements: enforcement, module states, one-off costs; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from lsmeter.core.groups import grouped
from lsmeter.core.model import Place
from lsmeter.questions.cells.evidence import BOOT_TITLE, CheckOutcome, Gauge, StateChange
from lsmeter.questions.cost.model import Report
from lsmeter.tables import numbers
from lsmeter.tables.model import Column, Detail, Item, Kind, Section, Shown, Table, Tone, Value
from lsmeter.tables.values import MISSING, many

_CHECKS = (
    "Each guest made these accesses just before it measured, as the measured process makes them. "
    "A guest in which one went otherwise gave no numbers."
)
_STATES = (
    "Read from the module before and after each benchmark. Counters: change per reading of the "
    "benchmark, with what prepares and undoes it; over all boots. Others: before "
    f"{numbers.ARROW} after, in the boot where it was largest."
)
_ONE_OFF = (
    "What a guest pays once, before anything is measured: guest time as instructions; waiting "
    "counts as well. Guest boot: the kernel's start and its modules, before the first step of the "
    "setup. Median, least and most of all boots."
)
_MEANS = "Means over the variants of each operation; markdown and HTML have all."
_OF = "_of"  # `buckets_used_of` is what `buckets_used` is a part of


def checks(report: Report, detail: Detail) -> Section:
    """Show how enforcement checks went; where short, those that failed."""
    items: dict[Place, list[Item]] = {}
    for item in report.checks:
        if detail is not Detail.SHORT or not _held(item):
            heading = Item(item.place.label, tone=Tone.HEADING)
            items.setdefault(item.place, [heading]).append(_check(item))
    found = tuple(chain.from_iterable(items.values()))
    return Section("Enforcement checks", (_CHECKS,), items=found, key="checks")


def held(report: Report) -> Iterator[str]:
    """Count the enforcement checks that held, in one line."""
    found: dict[str, set[str]] = {}
    for item in report.checks:
        if _held(item):
            found.setdefault(item.place.setup, set()).add(item.name)
    if found:
        names = ", ".join(f"{setup} ({len(checks)})" for setup, checks in found.items())
        yield f"Enforcement checks held in every boot: {names}."


def _held(item: CheckOutcome) -> bool:
    return 0 < item.boots == item.held


def _check(item: CheckOutcome) -> Item:
    was = item.happened or "not tried"
    was += f" ({item.error})" if item.happened and item.error else ""
    wanted = "denied" if item.denied else "allowed"
    before = f"; {item.before} before there was a policy" if item.denied and item.before else ""
    held = f"Held in {item.held} of {many(item.boots, 'boot')}."
    held = held if item.boots else "No boot reported anything."
    text = f"{item.name}: {item.access} {item.path} must be {wanted}, was {was}"
    return Item(f"{text}{before}. {held}", (item.message,) if item.message else ())


def states(report: Report, detail: Detail) -> Section:
    """Show the numbers of every setup that has any: a row for each benchmark, or operation."""
    full = detail is Detail.FULL
    places = grouped((item.place.label, item) for item in report.states)
    tables = (_states(label, found, full=full) for label, found in places.items())
    return Section("State of the modules", (_STATES,), tuple(tables), key="states")


_Key = tuple[str, str]  # the state and the number's name


def _states(label: str, found: Sequence[StateChange], *, full: bool) -> Table:
    """Show how far counters went; of a gauge, the boot in which it was largest."""
    moved: dict[_Key, dict[str, list[tuple[int, int]]]] = {}  # how far, in how many readings
    gauges: dict[_Key, dict[str, Gauge]] = {}
    names: dict[str, None] = {}
    for item in chain.from_iterable(numbers.by_operation(found).values()):
        name = item.benchmark.id if full else item.benchmark.operation
        names[name] = None
        for counter in item.counters:
            of = moved.setdefault((item.state, counter.name), {})
            of.setdefault(name, []).append((counter.difference, item.readings))
        for gauge in item.gauges:
            known = gauges.setdefault((item.state, gauge.name), {})
            known[name] = max(known.get(name, gauge), gauge, key=lambda one: one.after)
    standing = [
        (state, name)
        for state, name in gauges
        if not (name.endswith(_OF) and (state, name.removesuffix(_OF)) in gauges)
    ]
    alike = Counter(name for _, name in (*moved, *standing))
    heads = (
        Column("_".join(key), " ".join(key[alike[key[1]] == 1 :]).replace("_", " "))
        for key in (*moved, *standing)
    )
    rows = (
        (
            name,
            *(_rate(moved[key].get(name, [])) for key in moved),
            *(
                _gauge(
                    gauges[state, gauge].get(name), gauges.get((state, gauge + _OF), {}).get(name)
                )
                for state, gauge in standing
            ),
        )
        for name in names
    )
    first = Column("benchmark", "benchmark" if full else "operation", Kind.NAME)
    return Table("states", label, (first, *heads), tuple(rows), lead=() if full else (_MEANS,))


def _rate(moved: Sequence[tuple[int, int]]) -> Value:
    """Write how far a counter went in each reading."""
    readings = sum(count for _, count in moved)
    if not readings:
        return None
    rate = sum(difference for difference, _ in moved) / readings
    if rate.is_integer():
        return Shown(rate, f"{rate:,.0f}")
    if abs(rate) < 0.01:
        return Shown(rate, "<0.01" if rate > 0 else ">-0.01")
    return Shown(rate, f"{rate:,.2f}" if abs(rate) < 100 else f"{rate:,.1f}")


def _gauge(gauge: Gauge | None, whole: Gauge | None) -> Value:
    """Write how a gauge went; whole is what it is a part of."""
    if gauge is None:
        return Shown(None, MISSING)
    text = f"{gauge.after:,}" + (f"/{whole.after:,}" if whole is not None else "")
    if gauge.before is not None and gauge.before != gauge.after:
        text = f"{gauge.before:,}{numbers.ARROW}{text}"
    return Shown(gauge.after, text)


def one_off(report: Report) -> Section:
    """List the steps of each setup, and the guest boots of all."""
    found: dict[tuple[str, str], list[tuple[Value, ...]]] = {}
    for item in report.one_off:
        boot = item.title == BOOT_TITLE
        title = f"Guest boot on {', '.join(item.place.beside)}" if boot else item.place.label
        name = item.place.setup if boot else item.title
        counts = (item.insns, item.low_insns, item.high_insns, item.boots)
        found.setdefault(("setup" if boot else "step", title), []).append((name, *counts))
    keys = (("insns", "instructions"), ("low_insns", "least"), ("high_insns", "most"))
    columns = (*(Column(*names) for names in keys), Column("boots", "boots"))
    tables = (
        Table(key, title, (Column(key, key, Kind.NAME), *columns), tuple(rows))
        for (key, title), rows in sorted(found.items(), key=lambda item: item[0][0] == "setup")
    )
    return Section("One-off costs", (_ONE_OFF,), tuple(tables), key="one-off")
