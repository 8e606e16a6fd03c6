# SPDX-License-Identifier: GPL-2.0-or-later
"""Which hooks and functions the events of a typical call come from, and how they changed; pure.

An event belongs to the function that was running, and to the outermost hook above it, as an
instruction does. The numbers are those of one reading, whose call tree explains the instructions;
the typical number of each event by itself is the median over readings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lsmeter.core.groups import grouped
from lsmeter.measure.tasks.events import EVENTS
from lsmeter.questions.attribution.account import Account, Pair, operation
from lsmeter.questions.attribution.cost import exact_sum, locate_nodes
from lsmeter.questions.attribution.profile import Tree
from lsmeter.tables.fields import Field, named, tabled
from lsmeter.tables.model import Kind, Table

NAMES = tuple(EVENTS)
_INSNS = NAMES.index("insns")
_LISTED = 0.05  # events of one operation: a smaller change is not shown
_SHOWN = 20  # functions
_HOOK = (Field("hook", "hook", lambda item: item.hook or "outside of hooks", Kind.CODE),)
_FUNCTION = (
    Field("function", "function", kind=Kind.CODE),
    named("module", lambda item: item.module or "kernel"),
)
_LEAD = (
    "Differences of one reading of each operation, summed like instructions. Only events that "
    "changed have a column. Lines, pages and misses also change with where objects lie in memory."
)

Numbers = tuple[float, ...]  # as EVENTS
_Site = tuple[str, str, str]  # hook, function, module
_NONE: Numbers = (0,) * len(NAMES)


@dataclass(frozen=True)
class EventChange:
    """How the events of one function changed; function is "" for a hook with all below it.

    hook is "" outside of hooks.
    """

    hook: str
    function: str
    module: str
    baseline: Numbers
    tested: Numbers

    @cached_property
    def difference(self) -> Numbers:
        """Tested - baseline, event by event."""
        return tuple(new - old for old, new in zip(self.baseline, self.tested, strict=True))

    @property
    def changed(self) -> dict[str, float]:
        """The events that changed, with how much, in the order of EVENTS."""
        pairs = zip(NAMES, self.difference, strict=True)
        return {name: value for name, value in pairs if abs(value) >= _LISTED}


def has_events(pairs: Mapping[str, Pair]) -> bool:
    """Say whether both sides of any comparison have events."""
    return any(
        all(any(node.events for node in side.tree.nodes) for side in (pair.baseline, pair.tested))
        for pair in pairs.values()
    )


def event_changes(pairs: Mapping[str, Pair]) -> tuple[EventChange, ...]:
    """Return every function below every hook that has an event on either side.

    The mean over the variants of each operation is summed over all operations.
    """
    variants = Counter(map(operation, pairs))
    # Whole numbers stay so.
    factors = {name: 1 if many == 1 else 1 / many for name, many in variants.items()}
    parts = [(pair, factors[operation(name)]) for name, pair in pairs.items()]
    before = _summed((_by_site(pair.baseline.tree), factor) for pair, factor in parts)
    after = _summed((_by_site(pair.tested.tree), factor) for pair, factor in parts)
    sites = sorted(before.keys() | after.keys())
    return _ordered(EventChange(*i, before.get(i, _NONE), after.get(i, _NONE)) for i in sites)


def sum_changes(changes: Iterable[EventChange], name: str) -> tuple[EventChange, ...]:
    """Sum the changes of each hook or of each function, as named; the largest change first."""
    alike = grouped(
        ((item.hook, "", "") if name == "hook" else ("", item.function, item.module), item)
        for item in changes
    )
    return _ordered(
        EventChange(*site, _total([i.baseline for i in items]), _total([i.tested for i in items]))
        for site, items in alike.items()
    )


def entry(item: Account) -> dict[str, Any]:
    """Return the events of an account for programs; nothing where a side has none."""
    if not has_events(item.pairs):
        return {}
    found = event_changes(item.pairs)
    operations = [
        {"benchmark": name, "hooks": _entries(event_changes({name: pair}), "hook")}
        for name, pair in sorted(item.pairs.items())
    ]
    hooks, functions = _entries(found, "hook"), _entries(found, "function", "module")
    return {"events": {"hooks": hooks, "functions": functions, "operations": operations}}


def _entries(changes: Iterable[EventChange], *names: str) -> list[dict[str, Any]]:
    sides = ("baseline", "tested", "difference")
    return [
        {name: getattr(item, name) for name in names}
        | {
            "events": {
                name: {side: getattr(item, side)[NAMES.index(name)] for side in sides}
                for name in item.changed
            }
        }
        for item in sum_changes(changes, names[0])
        if item.changed
    ]


def event_tables(item: Account) -> Iterator[Table]:
    """Yield what hooks, and what functions, changed in each event; nothing without events."""
    if not has_events(item.pairs):
        return
    found = event_changes(item.pairs)
    hooks = [one for one in sum_changes(found, "hook") if one.changed]
    functions = [one for one in sum_changes(found, "function") if one.changed]
    left = len(functions) - _SHOWN
    more = (f"{left:,} more: --format json has all.",) if left > 0 else ()
    yield _table("hook", _HOOK, hooks)
    yield _table("function", _FUNCTION, functions[:_SHOWN], more)


def _table(
    of: str, heads: Sequence[Field], items: Sequence[EventChange], more: tuple[str, ...] = ()
) -> Table:
    changed = {name for item in items for name in item.changed}
    events = [_event(at, name) for at, name in enumerate(NAMES) if name in changed]
    fields, title, fixed = (*heads, *events), f"Events by {of}", len(heads)
    return tabled(f"event-{of}s", title, fields, items, lead=(_LEAD,), more=more, fixed=fixed)


def _event(at: int, name: str) -> Field:
    return Field(name, EVENTS[name], lambda item: item.difference[at] or None, Kind.CHANGE)


def _by_site(tree: Tree) -> dict[_Site, Numbers]:
    found: dict[_Site, list[float]] = {}
    for node, site, _ in locate_nodes(tree, typical=True):
        if node.events:
            row = found.setdefault((site.hook, *site.function), [0] * len(NAMES))
            for event, count in node.events:
                row[event] += count
    return {site: tuple(row) for site, row in found.items()}


def _summed(parts: Iterable[tuple[Mapping[_Site, Numbers], float]]) -> dict[_Site, Numbers]:
    found = grouped(
        (site, [number * factor for number in numbers])
        for sites, factor in parts
        for site, numbers in sites.items()
    )
    return {site: _total(rows) for site, rows in found.items()}


def _total(rows: Sequence[Sequence[float]]) -> Numbers:
    return tuple(exact_sum(column) for column in zip(*rows, strict=True))


def _ordered(changes: Iterable[EventChange]) -> tuple[EventChange, ...]:
    """Return the largest change of instructions first, then of all events."""

    def size(item: EventChange) -> tuple[float, float, str, str]:
        total = sum(abs(value) for value in item.difference)
        return -abs(item.difference[_INSNS]), -total, item.hook, item.function

    return tuple(sorted(changes, key=size))
