# SPDX-License-Identifier: GPL-2.0-or-later
"""What guests showed beside the measurements: enforcement, module states, one-off costs; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from lsmeter.core.groups import grouped
from lsmeter.questions.cells.evidence import BOOT_TITLE, CheckOutcome, Gauge, StateChange
from lsmeter.questions.cost.model import Report
from lsmeter.tables import numbers
from lsmeter.tables.fields import SETUP, Field, named, tabled
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
    places = grouped(
        (item.place.label, _check(item))
        for item in report.checks
        if detail is not Detail.SHORT or not _held(item)
    )
    headed = ((Item(label, tone=Tone.HEADING), *items) for label, items in places.items())
    found = tuple(chain.from_iterable(headed))
    return Section("Enforcement checks", (_CHECKS,), items=found, key="checks")


def held(report: Report) -> Iterator[str]:
    """Count the enforcement checks that held, in one line."""
    found = grouped((item.place.setup, item.name) for item in report.checks if _held(item))
    if found:
        names = ", ".join(f"{setup} ({len({*checks})})" for setup, checks in found.items())
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


def _states(label: str, found: Sequence[StateChange], *, full: bool) -> Table:
    """Show how far counters went; of a gauge, the boot in which it was largest."""
    items = [*chain.from_iterable(numbers.by_operation(found).values())]
    by_name = grouped((i.benchmark.id if full else i.benchmark.operation, i) for i in items)
    counters = dict.fromkeys((item.state, of.name) for item in items for of in item.counters)
    gauges = dict.fromkeys((item.state, of.name) for item in items for of in item.gauges)
    standing = [
        (state, name)
        for state, name in gauges
        if not (name.endswith(_OF) and (state, name.removesuffix(_OF)) in gauges)
    ]
    alike = Counter(name for _, name in (*counters, *standing))
    heads = (
        Column("_".join(key), " ".join(key[alike[key[1]] == 1 :]).replace("_", " "))
        for key in (*counters, *standing)
    )
    rows = tuple(
        (name, *(_rate(mine, *key) for key in counters), *(_gauge(mine, *key) for key in standing))
        for name, mine in by_name.items()
    )
    first = Column("benchmark", "benchmark" if full else "operation", Kind.NAME)
    return Table("states", label, (first, *heads), rows, lead=() if full else (_MEANS,))


def _rate(found: Sequence[StateChange], state: str, name: str) -> Value:
    """Write how far a counter went in each reading."""
    moved = [
        (of.difference, item.readings)
        for item in found
        for of in item.counters
        if (item.state, of.name) == (state, name)
    ]
    readings = sum(count for _, count in moved)
    if not readings:
        return None
    rate = sum(difference for difference, _ in moved) / readings
    if rate.is_integer():
        return Shown(rate, f"{rate:,.0f}")
    if abs(rate) < 0.01:
        return Shown(rate, "<0.01" if rate > 0 else ">-0.01")
    return Shown(rate, f"{rate:,.2f}" if abs(rate) < 100 else f"{rate:,.1f}")


def _gauge(found: Sequence[StateChange], state: str, name: str) -> Value:
    """Write how a gauge went, and what it is a part of."""
    gauge, whole = _largest(found, state, name), _largest(found, state, name + _OF)
    if gauge is None:
        return Shown(None, MISSING)
    text = f"{gauge.after:,}" + (f"/{whole.after:,}" if whole is not None else "")
    if gauge.before is not None and gauge.before != gauge.after:
        text = f"{gauge.before:,}{numbers.ARROW}{text}"
    return Shown(gauge.after, text)


def _largest(found: Sequence[StateChange], state: str, name: str) -> Gauge | None:
    gauges = (of for item in found if item.state == state for of in item.gauges if of.name == name)
    return max(gauges, key=lambda of: of.after, default=None)


def one_off(report: Report) -> Section:
    """List the steps of each setup, and the guest boots of all."""
    steps = grouped((item.place.label, item) for item in report.one_off if item.title != BOOT_TITLE)
    boots = grouped(
        (f"Guest boot on {', '.join(item.place.beside)}", item)
        for item in report.one_off
        if item.title == BOOT_TITLE
    )
    insns = (("insns", "instructions"), ("low_insns", "least"), ("high_insns", "most"))
    counts = (*(Field(*names) for names in insns), Field("boots", "boots"))
    step = named("step", "title")
    tables = (
        *(tabled("step", title, (step, *counts), items) for title, items in steps.items()),
        *(tabled("setup", title, (SETUP, *counts), items) for title, items in boots.items()),
    )
    return Section("One-off costs", (_ONE_OFF,), tables, key="one-off")
