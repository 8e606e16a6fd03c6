# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of the events that hooks and functions changed; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lsmeter.measure.tasks.events import EVENTS
from lsmeter.questions.attribution.account import Account
from lsmeter.questions.attribution.events import (
    NAMES,
    EventChange,
    account_changes,
    by_function,
    by_hook,
    has_events,
)
from lsmeter.tables.model import Column, Kind, Table, Value

_FUNCTIONS = 20  # of which the events are shown
_HOOK = Column("hook", "hook", Kind.CODE)
_FUNCTION = Column("function", "function", Kind.CODE)
_MODULE = Column("module", "module", Kind.NAME)
_OUTSIDE = "outside of hooks"
_LEAD = (
    "Differences of one reading of each operation, summed like instructions. Only events that "
    "changed have a column. Lines, pages and misses also change with where objects lie in memory."
)


def event_tables(item: Account) -> Iterable[Table]:
    """Yield what hooks, and what functions, changed in each event; nothing without events."""
    if not has_events(item.pairs):
        return
    found = account_changes(item)
    hooks = [one for one in by_hook(found) if one.changed]
    functions = [one for one in by_function(found) if one.changed]
    more = len(functions) - _FUNCTIONS
    left = (f"{more:,} more: --format json has all.",) if more > 0 else ()
    above = [((one.hook or _OUTSIDE,), one) for one in hooks]
    yield _table("event-hooks", "Events by hook", (_HOOK,), above)
    shown = [((one.function, one.module or "kernel"), one) for one in functions[:_FUNCTIONS]]
    yield _table("event-functions", "Events by function", (_FUNCTION, _MODULE), shown, left)


def _table(
    key: str,
    title: str,
    heads: tuple[Column, ...],
    rows: Sequence[tuple[tuple[Value, ...], EventChange]],
    more: tuple[str, ...] = (),
) -> Table:
    changed = {name for _, item in rows for name in item.changed}
    events = [(place, name) for place, name in enumerate(NAMES) if name in changed]
    columns = (*heads, *(Column(name, EVENTS[name], Kind.CHANGE) for _, name in events))
    return Table(
        key,
        title,
        columns,
        tuple((*head, *(item.difference[at] or None for at, _ in events)) for head, item in rows),
        lead=(_LEAD,),
        more=more,
        fixed=len(heads),
    )
