# SPDX-License-Identifier: GPL-2.0-or-later
"""Accounts as documents: of `hooks cost`, of `hooks diff`, and as chapter of a report; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from lsmeter.attribution.account import Account, Explained
from lsmeter.attribution.cost import Change, FunctionChange
from lsmeter.attribution.data import LEAST_INSNS, Entry, cost_entry, diff_entry, listed
from lsmeter.attribution.explain import NOT_SEEN, Cause, Explanation, HookChange, by_context
from lsmeter.attribution.flame import merge
from lsmeter.attribution.profile import INTERRUPT, Context
from lsmeter.tables.model import Column, Document, Item, Kind, Section, Shown, Table, Value

HEADING = "Where the cost comes from"
RULE = (
    "Guest instructions, every operation counted once. Non-hook cost is what changed outside of "
    "hooks."
)
_VERSION = 1  # of the documents
_NAMED = 3  # functions that a cell of a table names
_IN_REPORT = 12  # hooks, and functions
_OF_LAYER = 5
_OF_MODULE = 10
_OF_WHOLES = 20


class Extent(Enum):
    """Which tables of an account are wanted."""

    REPORT = "report"  # the largest changes, over all operations
    COST = "cost"  # all of them, and by operation
    DIFF = "diff"  # what changed only, and functions no matter in which hook they run


class _Field(NamedTuple):
    """A column, and its value of each thing that has a row."""

    kind: Kind
    key: str
    head: str
    value: Callable[[Any], Value]


class _Row(NamedTuple):
    """One operation of an account: both sides in instructions, and the explanation."""

    name: str
    found: Explanation
    baseline: float
    tested: float


def cost_document(accounts: Iterable[Account]) -> Document:
    """Show which hooks and functions the cost of each setup comes from."""
    return _document("lsmeter-hooks-cost", HEADING, tuple(accounts), Extent.COST, cost_entry)


def diff_document(accounts: Iterable[Account], before: str, after: str) -> Document:
    """Show which hooks and functions changed between two runs, setup by setup."""
    title = f"What changed: {before} → {after}"
    return _document("lsmeter-hooks-diff", title, tuple(accounts), Extent.DIFF, diff_entry)


def _document(
    name: str, title: str, known: Sequence[Account], extent: Extent, entry: Callable[..., Entry]
) -> Document:
    shown = tuple(section(item, extent) for item in known)
    data = {"format_version": _VERSION, "setups": [entry(item) for item in known]}
    return Document(name, _VERSION, title, lead=(RULE,), sections=shown, data=data)


def section(item: Account, extent: Extent) -> Section:
    """Return what is shown of one account."""
    told = [] if extent is Extent.DIFF else [sentence(item)]
    averages = (_tables(item, extent, whole=whole) for whole in (False, True))
    tables = (*chain(*averages), *_causes(item))
    return Section(
        item.place.label if extent is Extent.DIFF else item.label,
        items=tuple(map(Item, told)),
        tables=tuple(table for table in tables if table.rows or extent is not Extent.COST),
    )


def sentence(item: Account) -> str:
    """Say how the difference is made up, and how much of it is explained."""
    total, found = item.typical.total, item.typical.operations
    parts = f"hooks {total.hook_inline_insns:+,}, non-hook {total.outside_inline_insns:+,}"
    if total.other:
        parts += f", interrupts and idle {total.other:+,}"
    exact = sum(one.exact for one in found.values())
    doubtful = sum(bool(one.doubt) for one in found.values())
    text = (
        f"{total.clock_insns:+,} instructions over {len(found)} operations: {parts}. Hooks and "
        f"named functions explain {exact} of {len(found)} operations to the last instruction"
    )
    text += f"; {doubtful} are not known to repeat." if doubtful else "."
    if item.missing:
        text += f" Without attribution: {', '.join(item.missing)}."
    return text


def layer_sentence(item: Account) -> str:
    """Say where the cost of a layer lies: hooks, and functions inside of hooks and outside."""
    total = item.typical.total
    hooks = [
        f"{hook.hook} {hook.difference_insns:+,} ({100 * (total.share(hook) or 0):.1f} %)"
        for hook in listed(total.hooks)
    ]
    functions = [
        f"{change.function} [{change.module or 'kernel'}] {change.difference_insns:+,}"
        for change in listed(total.functions)
    ]
    return (
        f"{total.difference_insns:+,} instructions over {len(item.typical.operations)} operations. "
        f"Hooks: {_first(hooks, _OF_LAYER) or 'none changed'}. Functions by their own "
        f"instructions: {_first(functions, _OF_LAYER) or 'none changed'}."
    )


def _tables(item: Account, extent: Extent, *, whole: bool) -> Iterable[Table]:
    """Yield the tables of one average: operations, hooks, functions."""
    found = item.whole if whole else item.typical
    if not found.operations:
        return
    if extent is not Extent.REPORT:
        yield _operations(item, extent, whole=whole)
    total = found.total
    hooks = total.changed_hooks if extent is Extent.DIFF else list(total.hooks)
    if whole or extent is Extent.REPORT:
        hooks = listed(hooks)
    share = _Field(Kind.SHARE, "share", "share", total.share)
    parts = _CHANGED if extent is Extent.DIFF else _MODULES
    yield _table(
        "whole-hooks" if whole else "hooks",
        "Hooks, whole cost" if whole else "Hooks",
        (_HOOK, *([_CONTEXT] * whole), _CALLS, _EACH, _DIFFERENCE, share, parts),
        hooks,
        "With all that runs below the hook; deferred work of a hook has a row of its own",
        _IN_REPORT if extent is Extent.REPORT else None,
    )
    if whole:
        yield _contexts(found)
    if not whole or extent is not Extent.REPORT:
        yield _functions(found, extent, whole=whole)
    if not whole and extent is Extent.COST:
        yield from _of_modules(item, total)


def _operations(item: Account, extent: Extent, *, whole: bool) -> Table:
    diff = extent is Extent.DIFF
    rows = [
        _Row(name, found, found.baseline_insns, found.tested_insns)
        if whole
        else _Row(name, found, item.baseline.values[name], item.tested.values[name])
        for name, found in (item.whole if whole else item.typical).operations.items()
        if not diff or (abs(found.difference_insns) >= LEAST_INSNS if whole else found.changes)
    ]
    fields = (*_SIDES, *(_WHOLE if whole else _TYPICAL), _ALL if diff else _OUTSIDE)
    if whole:
        return _table("whole", "Whole cost", fields, rows, _HOW_WHOLE)
    return _table("operations", "Typical call", fields, rows, _HOW_TYPICAL)


def _functions(item: Explained, extent: Extent, *, whole: bool) -> Table:
    """List functions outside of hooks; of a difference of runs, all functions."""
    diff = extent is Extent.DIFF
    if whole:
        changes = listed(item.total.changes if diff else item.total.outside)
        wide = (_FUNCTION, _CONTEXT, _HOOK, _MODULE, _CALLS, _EACH, _DIFFERENCE)
        lead = "Background work varies by a few instructions from run to run"
        return _table("whole-functions", "Functions, whole cost", wide, changes, lead, _OF_WHOLES)
    outside = [change for change in listed(item.total.outside) if not change.deferred]
    return _table(
        "functions",
        "Functions, in hooks or not" if diff else "Non-hook cost",
        (_FUNCTION, _MODULE, _CALLS, _EACH, _DIFFERENCE),
        item.total.functions if diff else outside,
        shown=_IN_REPORT if extent is Extent.REPORT else None,
    )


def _contexts(item: Explained) -> Table:
    inside, outside = by_context(item.total.hooks), by_context(item.total.outside)
    return _table(
        "contexts",
        "Whole cost by context",
        (
            _Field(Kind.NAME, "context", "context", attrgetter("value")),
            _Field(Kind.NAME, "when", "when", lambda i: "in line" if i.inline else "deferred"),
            _Field(Kind.CHANGE, "hook_insns", "hooks", lambda i: inside.get(i, 0.0)),
            _Field(Kind.CHANGE, "outside_insns", "non-hook", lambda i: outside.get(i, 0.0)),
        ),
        [context for context in Context if context in inside or context in outside],
        f"{round(item.total.difference_insns):+,} instructions over one cycle of "
        f"{len(item.operations)} operations, deferred work included",
    )


def _of_modules(item: Account, total: Explanation) -> Iterable[Table]:
    """List the functions of each module that changed, the largest own cost first."""
    changed: dict[str, float] = {}
    for hook in total.hooks:
        for module, insns in hook.modules:
            changed[module] = changed.get(module, 0) + abs(insns)
    root = merge("all", (), item.after.values())
    for module in sorted(changed, key=lambda name: (-changed[name], name)):
        if module and changed[module]:
            costs = root.functions(module)[:_OF_MODULE]
            title = f"Functions of {module} in {item.place.setup}"
            yield _table(f"functions-{module}", title, _OWN, costs)


def _causes(item: Account) -> tuple[Table, ...]:
    """List why non-hook cost changed in typical calls and in whole cycles; without causes none."""
    typical = {cause.words: cause for cause in item.typical.causes}
    whole = {cause.words: cause for cause in item.whole.causes}

    def insns(cause: Cause | None) -> Value:
        if cause is None:
            return None
        return Shown(cause.insns, f"{round(cause.insns):+,} ({cause.operations})")

    # What is known of the whole cycle goes first.
    best = typical | whole
    fields = (
        _Field(Kind.PROSE, "cause", "cause", str),
        _Field(Kind.CHANGE, "typical_insns", "typical call", lambda i: insns(typical.get(i))),
        _Field(Kind.CHANGE, "whole_insns", "whole cycle", lambda i: insns(whole.get(i))),
        _Field(Kind.PROSE, "functions", "largest functions", lambda i: _largest(best[i].functions)),
    )
    names = sorted(best, key=lambda words: (-best[words].insns, words))
    lead = "In brackets: operations. Stated only where the call trees prove it"
    table = _table("causes", "Causes of non-hook cost", fields, names, lead)
    return (table,) if names else ()


def _table(
    key: str,
    title: str,
    fields: Sequence[_Field],
    items: Sequence[object],
    lead: str = "",
    shown: int | None = None,
) -> Table:
    more = 0 if shown is None else len(items) - shown
    return Table(
        key,
        title,
        tuple(Column(field.key, field.head, field.kind) for field in fields),
        tuple(tuple(field.value(item) for field in fields) for item in items[:shown]),
        lead=(f"{lead}.",) if lead else (),
        more=(f"{more:,} more.",) if more > 0 else (),
    )


def _both(values: Iterable[float | None]) -> Value:
    """Show the tested side's number, and the baseline's before it where that is another one."""
    before, after = values
    old, new = (
        "none" if i is None else f"{i:,}" if isinstance(i, int) else f"{i:,.2f}"
        for i in (before, after)
    )
    return Shown(after, new if old == new else f"{old} → {new}")


def _modules(hook: HookChange) -> Value:
    parts = (f"{module or 'kernel'} {_signed(insns)}" for module, insns in hook.modules if insns)
    return ", ".join(parts)


def _changed(changes: Iterable[FunctionChange]) -> str:
    def name(change: FunctionChange) -> str:
        name, context = change.function, change.context
        return name if context.inline or name == INTERRUPT else f"{name} ({context.value})"

    return _largest([(name(item), item.difference_insns) for item in listed(changes)])


def _largest(functions: Sequence[tuple[str, float]]) -> str:
    return _first([f"{name} {_signed(insns)}" for name, insns in functions], _NAMED)


def _signed(insns: float) -> str:
    return f"{insns:+,}" if isinstance(insns, int) else f"{round(insns, 1) + 0.0:+,.1f}"


def _first(found: list[str], number: int) -> str:
    more = [f"{len(found) - number:,} more"] if len(found) > number else []
    return ", ".join([*found[:number], *more])


def _each(change: Change) -> Value:
    before = (change.baseline_insns, change.baseline_calls)
    after = (change.tested_insns, change.tested_calls)
    return _both(insns / calls if calls > 0 else None for insns, calls in (before, after))


def _insns(key: str, head: str, value: str) -> _Field:
    return _Field(Kind.CHANGE, f"{key}_insns", head, attrgetter(value))


# Of a change of a hook or a function.
_HOOK = _Field(Kind.CODE, "hook", "hook", attrgetter("hook"))
_CONTEXT = _Field(Kind.NAME, "context", "context", attrgetter("context.value"))
_FUNCTION = _Field(Kind.CODE, "function", "function", attrgetter("function"))
_MODULE = _Field(Kind.NAME, "module", "module", lambda i: i.module or "kernel")
_CALLS = _Field(Kind.COUNT, "calls", "calls", lambda i: _both((i.baseline_calls, i.tested_calls)))
_EACH = _Field(Kind.COUNT, "insns_per_call", "per call", _each)
_DIFFERENCE = _insns("difference", "difference", "difference_insns")
_MODULES = _Field(Kind.PROSE, "modules", "by module", _modules)
_CHANGED = _Field(Kind.PROSE, "functions", "largest changes", lambda i: _changed(i.functions))
# Of a function of a module.
_OWN = (
    _Field(Kind.CODE, "function", "function", itemgetter(0)),
    _Field(Kind.COUNT, "calls", "calls", lambda i: i[1].calls),
    _Field(Kind.COUNT, "self_insns", "own instructions", lambda i: i[1].own),
    _Field(Kind.COUNT, "inclusive_insns", "with all below", lambda i: i[1].inclusive),
)
# Of an operation.
_SIDES = (
    _Field(Kind.NAME, "operation", "operation", attrgetter("name")),
    _Field(Kind.COUNT, "baseline_insns", "baseline", attrgetter("baseline")),
    _Field(Kind.COUNT, "tested_insns", "tested", attrgetter("tested")),
)
_OUTSIDE = _Field(Kind.PROSE, "largest", "largest non-hook", lambda i: _changed(i.found.outside))
_ALL = _Field(Kind.PROSE, "largest", "largest changes", lambda i: _changed(i.found.changes))
_TYPICAL = (
    _insns("difference", "difference", "found.clock_insns"),
    _insns("hook", "hooks", "found.hook_inline_insns"),
    _insns("outside", "non-hook", "found.outside_inline_insns"),
    _insns("other", "interrupts, idle", "found.other"),
)
_WHOLE = (
    _insns("difference", "difference", "found.difference_insns"),
    _insns("hook", "hooks", "found.hook_inline_insns"),
    _insns("hook_deferred", "hooks, deferred", "found.hook_deferred_insns"),
    _insns("outside", "non-hook", "found.outside_inline_insns"),
    _insns("outside_deferred", "non-hook, deferred", "found.outside_deferred_insns"),
    _insns("unseen", "not in trees", "found.unseen_insns"),
)
_HOW_TYPICAL = "difference = hooks + non-hook + interrupts, idle"
_HOW_WHOLE = (
    "One cycle, deferred work included. difference = hooks + hooks, deferred + non-hook + "
    f"non-hook, deferred. Not in the trees: {NOT_SEEN}"
)
