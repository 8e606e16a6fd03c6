# SPDX-License-Identifier: GPL-2.0-or-later
"""Accounts as documents: of `hooks cost`, of `hooks diff`, and as chapter of a report; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import NamedTuple

from lsmeter.core.groups import grouped
from lsmeter.questions.attribution.account import UNSTEADY, Account, Explained
from lsmeter.questions.attribution.cost import Change, FunctionChange
from lsmeter.questions.attribution.data import LEAST_INSNS, Entry, cost_entry, diff_entry, listed
from lsmeter.questions.attribution.events import event_tables
from lsmeter.questions.attribution.explain import Cause, Explanation, HookChange
from lsmeter.questions.attribution.flame import changed, merge
from lsmeter.questions.attribution.operations import chart
from lsmeter.questions.attribution.operations import table as by_operation
from lsmeter.questions.attribution.profile import INTERRUPT
from lsmeter.questions.attribution.stacks import account_stacks
from lsmeter.tables.fields import Field, named, tabled
from lsmeter.tables.model import Detail, Document, Item, Kind, Section, Shown, Table, Value
from lsmeter.tables.values import first_of, some
from lsmeter.tables.values import many as many_of

HEADING = "Where the cost comes from"
RULE = (
    "Guest instructions. A sum counts every operation once, whatever the number of its variants. "
    "Non-hook cost is what changed outside of hooks."
)
_VERSION = 1  # of the documents
_NAMED = 3  # functions that a cell of a table names
_OF_LAYER = 5
_OF_MODULE = 10
_OF_WHOLES = 20
_COLUMNS = 3  # hooks of a table by operation, where there is little room
_BRIEF = ("by-operation", "functions", "contexts", "causes")
_REPORTED = {
    Detail.SHORT: _BRIEF[:1],
    Detail.TERMINAL: _BRIEF,
    Detail.FULL: (*_BRIEF, "hooks", "whole-hooks", "event-hooks", "event-functions"),
}


class _Row(NamedTuple):
    """One operation of an account: both sides in instructions, and the explanation."""

    name: str
    found: Explanation
    baseline: float
    tested: float


def cost_document(accounts: Iterable[Account], detail: Detail = Detail.FULL) -> Document:
    """Show which hooks and functions the cost of each setup comes from; programs get all rows."""
    show = partial(section, cut=detail is not Detail.DATA)
    return _document("lsmeter-hooks-cost", HEADING, tuple(accounts), show, cost_entry)


def diff_document(
    accounts: Iterable[Account],
    before: str,
    after: str,
    notes: Iterable[str] = (),
    detail: Detail = Detail.FULL,
) -> Document:
    """Show which hooks and functions changed between two runs, setup by setup."""
    show = partial(_difference, cut=detail is not Detail.DATA)
    title, known = f"What changed: {before} → {after}", tuple(accounts)
    return _document("lsmeter-hooks-diff", title, known, show, diff_entry, tuple(notes))


def _document(
    name: str,
    title: str,
    known: Sequence[Account],
    show: Callable[[Account], Section],
    entry: Callable[[Account], Entry],
    notes: tuple[str, ...] = (),
) -> Document:
    said = {"notes": notes} if notes else {}
    data = {"format_version": _VERSION, "setups": [entry(item) for item in known], **said}
    sections, stacks = tuple(map(show, known)), account_stacks(known)
    answer = first_of(f"{item.label}: {layer_sentence(item, _NAMED)}" for item in known)
    return Document(
        name, _VERSION, title, (), (RULE,), sections, notes, data, answer, stacks=stacks
    )


def section(item: Account, detail: Detail | None = None, *, cut: bool = True) -> Section:
    """Return what is shown of one account: all, or what a report with this much room has.

    Without a cut, the longest tables have all their rows too.
    """
    short = detail in {Detail.SHORT, Detail.TERMINAL}
    every = (*_tables(item, cut=cut), *_causes(item), *event_tables(item))
    found = (by_operation(item, _COLUMNS if short else None), *every)
    if detail is not None:
        rows, kept = 5 if short else 12, _REPORTED[detail]
        found = tuple(_cut(i, rows, "lsmeter hooks cost") for i in found if i.key in kept)
    tables = tuple(table for table in found if table.rows)
    said = (Item(sentence(item)),)
    return Section(item.label, (), tables, said, figures=(chart(item), changed(item)))


def _difference(item: Account, *, cut: bool) -> Section:
    found = (*_tables(item, diff=True, cut=cut), *_causes(item), *event_tables(item))
    return Section(item.place.label, tables=found, items=tuple(_one_sided(item)))


def _one_sided(item: Account) -> Iterable[Item]:
    """Say which benchmarks of a setup only one of two runs has, with their trees."""
    before, after = set(item.baseline.kept), set(item.tested.kept)
    for word, names in (("first", before - after), ("second", after - before)):
        if names:
            yield Item(f"Only in the {word} run, not compared: {', '.join(sorted(names))}.")


def _cut(table: Table, rows: int, where: str) -> Table:
    """Leave the first rows, but all operations, and say where all of them are."""
    left = len(table.rows) - rows
    if left <= 0 or table.key == "by-operation":
        return table
    more = f"{left:,} more: {where} has all."
    return replace(table, rows=table.rows[:rows], more=(*table.more, more))


def sentence(item: Account) -> str:
    """Say how the difference is made up, and how much of it is explained."""
    total, found = item.typical.total, item.typical.benchmarks
    inside, outside = map(_signed, (total.hook_inline_insns, total.outside_inline_insns))
    parts = f"hooks {inside}, non-hook {outside}"
    for what, insns in (
        ("interrupts and idle", total.deferred_insns),
        ("not in the trees", total.unseen_insns or 0),
    ):
        parts += f", {what} {_signed(insns)}" if abs(insns) >= LEAST_INSNS else ""
    named = sum(not one.other for one in found.values())
    doubts = [one.doubt for one in found.values() if one.doubt]
    unsteady = sum(doubt.startswith(UNSTEADY) for doubt in doubts)
    text = (
        f"{_signed(total.clock_insns)} instructions over {_spread(item.typical)}: {parts}. Hooks "
        f"and named functions make up {named} of {len(found)} differences to the last instruction"
    )
    text += f"; {unsteady} are {UNSTEADY}" if unsteady else ""
    if other := len(doubts) - unsteady:
        text += f"; the trees of {other} do not have the difference that was measured"
    text += "."
    if item.missing:
        text += f" Without attribution: {', '.join(item.missing)}."
    return text


def _spread(item: Explained) -> str:
    many, variants = len(item.by_operation), len(item.benchmarks)
    return many_of(many, "operation") + (
        f", means of {variants} variants" if variants > many else ""
    )


def layer_sentence(item: Account, most: int = _OF_LAYER) -> str:
    """Say where the cost of a layer lies: hooks, and functions inside of hooks and outside."""
    total = item.typical.total
    hooks = [
        f"{hook.hook} {_signed(hook.difference_insns)} ({100 * (total.share(hook) or 0):.1f} %)"
        for hook in listed(total.hooks)
    ]
    functions = [
        f"{change.function} [{change.module or 'kernel'}] {_signed(change.difference_insns)}"
        for change in listed(total.functions)
    ]
    return (
        f"{_signed(total.clock_insns)} instructions over {_spread(item.typical)}. Hooks: "
        f"{some(hooks, most) or 'none changed'}. Functions by their own "
        f"instructions: {some(functions, most) or 'none changed'}."
    )


def _tables(item: Account, *, diff: bool = False, cut: bool) -> Iterable[Table]:
    """Yield operations, hooks and functions of both averages; of a diff, only what changed."""
    where = f"lsmeter hooks {'diff' if diff else 'cost'} --format csv"
    for found, whole in ((item.typical, False), (item.whole, True)):
        if not found.benchmarks:
            continue
        total = found.total
        yield _operations(item, diff=diff, whole=whole)
        hooks = total.changed_hooks if diff else list(total.hooks)
        part = total.share_of_trees if whole else total.share
        share = Field("share", "share", part, Kind.SHARE)
        yield _table(
            "whole-hooks" if whole else "hooks",
            "Hooks, whole cost" if whole else "Hooks",
            (*_HOOKS[: 1 + whole], *_CHANGE, share, _CHANGED if diff else _MODULES),
            listed(hooks) if whole else hooks,
            "With all that runs below the hook; deferred work of a hook has a row of its own",
        )
        if whole:
            lead = (
                f"{round(total.difference_insns):+,} instructions over one cycle of "
                f"{_spread(found)}, deferred work included"
            )
            yield _table("contexts", "Whole cost by context", _SUMS, total.contexts, lead)
            changes = listed(total.changes if diff else total.outside)
            lead = "Background work varies by a few instructions from run to run"
            fields = (_FUNCTION, _CONTEXT, _HOOK, _MODULE, *_CHANGE)
            every = _table("whole-functions", "Functions, whole cost", fields, changes, lead)
            yield _cut(every, _OF_WHOLES, where) if cut else every
            continue
        outside = [change for change in listed(total.outside) if not change.deferred]
        yield _table(
            "functions",
            "Functions, in hooks or not" if diff else "Non-hook cost",
            (_FUNCTION, _MODULE, *_CHANGE),
            total.functions if diff else outside,
        )
        if not diff:
            for every in _of_modules(item, total):
                yield _cut(every, _OF_MODULE, where) if cut else every


def _operations(item: Account, *, diff: bool, whole: bool) -> Table:
    rows = [
        _Row(name, found, found.baseline.insns, found.tested.insns)
        if whole
        else _Row(name, found, item.baseline.values[name], item.tested.values[name])
        for name, found in (item.whole if whole else item.typical).benchmarks.items()
        if not diff or _differs(found, whole=whole)
    ]
    fields = (*_SIDES, *(_WHOLE if whole else _TYPICAL), _ALL if diff else _OUTSIDE)
    if whole:
        return _table("whole", "Whole cost", fields, rows, _HOW_WHOLE)
    return _table("operations", "Typical call", fields, rows, _HOW_TYPICAL)


def _differs(found: Explanation, *, whole: bool) -> bool:
    """Say whether two runs differ in an operation, by the trees or by the clock."""
    if whole:
        return abs(found.difference_insns) >= LEAST_INSNS
    return bool(found.changes or found.clock_insns)


def _of_modules(item: Account, total: Explanation) -> Iterable[Table]:
    """List the functions of each module that changed, the largest own cost first."""
    parts = grouped(part for hook in total.hooks for part in hook.modules)
    changed = {module: sum(map(abs, insns)) for module, insns in parts.items()}
    root = merge("all", {}, item.after)
    for module in sorted(changed, key=lambda name: (-changed[name], name)):
        if module and changed[module]:
            title = f"Functions of {module} in {item.place.setup}"
            yield _table(f"functions-{module}", title, _OWN, root.functions(module))


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
        Field("cause", "cause", str, Kind.PROSE),
        Field("typical_insns", "typical call", lambda i: insns(typical.get(i)), Kind.CHANGE),
        Field("whole_insns", "whole cycle", lambda i: insns(whole.get(i)), Kind.CHANGE),
        Field("functions", "largest functions", lambda i: _largest(best[i].functions), Kind.PROSE),
    )
    names = sorted(best, key=lambda words: (-best[words].insns, words))
    lead = "In brackets: operations. Stated only where the call trees prove it"
    table = _table("causes", "Causes of non-hook cost", fields, names, lead)
    return (table,) if names else ()


def _table(
    key: str, title: str, fields: Sequence[Field], items: Sequence[object], lead: str = ""
) -> Table:
    return tabled(key, title, fields, items, lead=(f"{lead}.",) if lead else ())


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
    return some([f"{name} {_signed(insns)}" for name, insns in functions], _NAMED)


def _signed(insns: float) -> str:
    return f"{insns:+,}" if isinstance(insns, int) else f"{round(insns, 1) + 0.0:+,.1f}"


def _each(change: Change) -> Value:
    before = (change.baseline_insns, change.baseline_calls)
    after = (change.tested_insns, change.tested_calls)
    return _both(insns / calls if calls > 0 else None for insns, calls in (before, after))


def _insns(key: str, head: str, value: str) -> Field:
    return Field(f"{key}_insns", head, value, Kind.CHANGE)


# Of a change of a hook or a function.
_HOOK = Field("hook", "hook", kind=Kind.CODE)
_CONTEXT = named("context", "context.value")
_FUNCTION = Field("function", "function", kind=Kind.CODE)
_MODULE = named("module", lambda i: i.module or "kernel")
_CALLS = Field("calls", "calls", lambda i: _both((i.baseline_calls, i.tested_calls)))
_EACH = Field("insns_per_call", "per call", _each)
_CHANGE = (_CALLS, _EACH, _insns("difference", "difference", "difference_insns"))
_HOOKS = (_HOOK, _CONTEXT)
_MODULES = Field("modules", "by module", _modules, Kind.PROSE)
_CHANGED = Field("functions", "largest changes", lambda i: _changed(i.functions), Kind.PROSE)
# Of a context.
_SUMS = (
    named("context", "context.value"),
    named("when", lambda i: "in line" if i.context.inline else "deferred"),
    _insns("hook", "hooks", "hook_insns"),
    _insns("outside", "non-hook", "outside_insns"),
)
# Of a function of a module.
_OWN = (
    Field("function", "function", itemgetter(0), Kind.CODE),
    Field("calls", "calls", lambda i: i[1].calls),
    Field("self_insns", "own instructions", lambda i: i[1].own),
    Field("inclusive_insns", "with all below", lambda i: i[1].inclusive),
)
# Of an operation.
_SIDES = (
    named("operation", "name"),
    Field("baseline_insns", "baseline", "baseline"),
    Field("tested_insns", "tested", "tested"),
)
_OUTSIDE = Field("largest", "largest non-hook", lambda i: _changed(i.found.outside), Kind.PROSE)
_ALL = Field("largest", "largest changes", lambda i: _changed(i.found.changes), Kind.PROSE)
_TYPICAL = (
    _insns("difference", "difference", "found.clock_insns"),
    _insns("hook", "hooks", "found.hook_inline_insns"),
    _insns("outside", "non-hook", "found.outside_inline_insns"),
    _insns("other", "interrupts, idle", "found.deferred_insns"),
    _insns("unseen", "not in trees", "found.unseen_insns"),
)
_WHOLE = (
    _insns("difference", "difference", "found.difference_insns"),
    _insns("hook", "hooks", "found.hook_inline_insns"),
    _insns("hook_deferred", "hooks, deferred", "found.hook_deferred_insns"),
    _insns("outside", "non-hook", "found.outside_inline_insns"),
    _insns("outside_deferred", "non-hook, deferred", "found.outside_deferred_insns"),
    _insns("unseen", "not in trees", "found.unseen_insns"),
)
_HOW_TYPICAL = "difference = hooks + non-hook + interrupts, idle + not in trees"
_HOW_WHOLE = (
    "One cycle, deferred work included. difference = hooks + hooks, deferred + non-hook + "
    "non-hook, deferred. Not in the trees: instructions in user space; time: caches, TLBs, branch "
    "prediction and waiting cost no instructions; other boots than those with attribution: work "
    "that a tick sets off falls elsewhere in each; which call caused deferred work: it is shared "
    "out evenly over the operations of the window"
)
