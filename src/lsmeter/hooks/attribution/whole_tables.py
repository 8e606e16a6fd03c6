# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole costs by context, as tables and as JSON; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lsmeter.hooks.attribution.causes import Cause
from lsmeter.hooks.attribution.explain import Explanation
from lsmeter.hooks.attribution.whole import Amount
from lsmeter.hooks.attribution.whole_explain import (
    NOT_SEEN,
    PlaceChange,
    WholeExplanation,
    WholeHook,
)
from lsmeter.hooks.attribution.whole_summary import CauseSum, sum_causes
from lsmeter.hooks.source.tables import Table

LEAST_INSNS = 0.5  # of one operation: smaller changes are not listed
_LEAST_CALLS = 0.01
_NAMED = 3  # functions that a cell of a table names
_SHOWN = 20  # rows of functions


def whole_tables(
    wholes: Mapping[str, WholeExplanation], total: WholeExplanation | None, where: str
) -> tuple[Table, ...]:
    """Return the tables of one setup: operations, hooks and functions by context."""
    if total is None:
        return ()
    tables = (_operations(wholes, where), _hooks(total, where), _outside(total, where))
    return tuple(table for table in tables if table.rows)


def cause_table(
    operations: Iterable[Explanation], wholes: Iterable[WholeExplanation], where: str
) -> tuple[Table, ...]:
    """Return why code outside of hooks costs more, in line and as a whole; without causes none."""
    inline = {item.words: item for item in sum_causes(_causes(operations))}
    whole = {item.words: item for item in sum_causes(_causes(wholes))}
    if not inline and not whole:
        return ()
    names = sorted(
        inline.keys() | whole.keys(),
        key=lambda words: (-max(_insns(inline, words), _insns(whole, words)), words),
    )
    rows = tuple(
        (
            words,
            _counted(inline.get(words)),
            _counted(whole.get(words)),
            _largest((whole.get(words) or inline[words]).functions),
        )
        for words in names
    )
    return (
        Table(
            "causes",
            f"Why code outside of hooks costs more: {where}",
            ("cause", "in line", "whole", "largest functions"),
            rows,
            note="Instructions over the operations named in brackets; stated only where the call "
            "trees prove it.",
        ),
    )


def whole_diff_tables(
    wholes: Mapping[str, WholeExplanation], total: WholeExplanation | None, where: str
) -> tuple[Table, ...]:
    """Return what changed in whole costs between two runs: functions with their context."""
    if total is None:
        return ()
    changes = _listed(_all_changes(total))
    shown = changes[:_SHOWN]
    more = len(changes) - len(shown)
    return (
        Table(
            "whole-functions",
            f"Functions whose own instructions changed in the whole cost: {where}",
            ("function", "context", "hook", "module", "calls", "instructions", "per call"),
            tuple(_function_row(change) for change in shown),
            note="Sums over one cycle of each operation, deferred work included. "
            + (f"{more} more changed by {LEAST_INSNS} or more. " if more > 0 else "")
            + "Work in the background varies a little from run to run.",
        ),
        Table(
            "whole-operations",
            f"Whole costs that changed: {where}",
            ("operation", "instructions", "in line", "deferred", "largest changes"),
            tuple(
                (
                    name,
                    _signed(item.difference),
                    _signed(item.hook_inline + item.outside_inline),
                    _signed(item.hook_deferred + item.outside_deferred),
                    _named_changes(_all_changes(item)),
                )
                for name, item in wholes.items()
                if abs(item.difference) >= LEAST_INSNS
            ),
        ),
    )


def whole_entry(item: WholeExplanation) -> dict[str, Any]:
    """Return one explanation as JSON; docs/attribution.md describes the fields."""
    return {
        "baseline_insns": item.baseline_insns,
        "tested_insns": item.tested_insns,
        "difference_insns": item.difference,
        "hook_inline_insns": item.hook_inline,
        "hook_deferred_insns": item.hook_deferred,
        "outside_inline_insns": item.outside_inline,
        "outside_deferred_insns": item.outside_deferred,
        "hook_insns_by_context": dict(item.hook_by_context()),
        "outside_insns_by_context": dict(item.outside_by_context()),
        "reported_insns": item.reported,
        "unseen_insns": item.unseen_insns,
        "hooks": [_hook_entry(hook) for hook in item.hooks if _matters(hook)],
        "outside": [_place_entry(change) for change in _listed(item.outside)],
        "causes": [cause_entry(cause) for cause in item.causes],
    }


def whole_diff_entry(item: WholeExplanation) -> dict[str, Any]:
    """Return what changed in one whole cost as JSON, function by function."""
    return {
        "difference_insns": item.difference,
        "insns_by_context": {
            context: item.hook_by_context().get(context, 0.0)
            + item.outside_by_context().get(context, 0.0)
            for context in (*item.hook_by_context(), *item.outside_by_context())
        },
        "functions": [_place_entry(change) for change in _listed(_all_changes(item))],
    }


def cause_entry(item: Cause) -> dict[str, Any]:
    """Return a cause as JSON."""
    return {
        "cause": item.words,
        "insns": item.insns,
        "functions": dict(item.functions),
        "evidence": dict(item.evidence),
    }


def _causes(items: Iterable[Explanation | WholeExplanation]) -> Iterator[Cause]:
    for item in items:
        yield from item.causes


def _insns(sums: Mapping[str, CauseSum], words: str) -> float:
    return sums[words].insns if words in sums else 0.0


def _counted(item: CauseSum | None) -> str:
    return "" if item is None else f"{round(item.insns):+,} ({item.operations})"


def _operations(wholes: Mapping[str, WholeExplanation], where: str) -> Table:
    rows = tuple(
        (
            name,
            f"{item.baseline_insns:,.1f}",
            f"{item.tested_insns:,.1f}",
            _signed(item.difference),
            _signed(item.hook_inline),
            _signed(item.hook_deferred),
            _signed(item.outside_inline),
            _signed(item.outside_deferred),
            "" if item.unseen_insns is None else _signed(item.unseen_insns),
            _named_changes(item.outside),
        )
        for name, item in wholes.items()
    )
    return Table(
        "whole",
        f"Whole cost by context, in instructions of one cycle: {where}",
        (
            *("operation", "baseline", "tested", "difference", "hooks", "hooks, deferred"),
            *("non-hook", "non-hook, deferred", "not in trees", "largest outside of hooks"),
        ),
        rows,
        note="difference = hooks + hooks, deferred + non-hook + non-hook, deferred. Not in the "
        f"trees: {'; '.join(NOT_SEEN)}.",
    )


def _hooks(total: WholeExplanation, where: str) -> Table:
    return Table(
        "whole-hooks",
        f"Hooks in whole costs over all operations, in instructions: {where}",
        ("hook", "context", "calls", "difference", "functions that changed"),
        tuple(
            (
                item.hook,
                item.context.value,
                _calls(item.baseline_calls, item.tested_calls),
                _signed(item.difference),
                _named_changes(item.functions),
            )
            for item in total.hooks
            if abs(item.difference) >= LEAST_INSNS
        ),
        note="One cycle of each operation. A hook whose work is done later is in a row of its own.",
    )


def _outside(total: WholeExplanation, where: str) -> Table:
    changes = _listed(total.outside)
    more = len(changes) - _SHOWN
    return Table(
        "whole-outside",
        f"Outside of hooks in whole costs over all operations, in instructions: {where}",
        ("function", "context", "module", "calls", "difference"),
        tuple(
            (
                change.place.function,
                change.place.context.value,
                change.module or "kernel",
                _calls(change.baseline.calls, change.tested.calls),
                _signed(change.difference),
            )
            for change in changes[:_SHOWN]
        ),
        note=f"{more} more." if more > 0 else "",
    )


def _all_changes(item: WholeExplanation) -> list[PlaceChange]:
    inside = [change for hook in item.hooks for change in hook.functions]
    return sorted((*inside, *item.outside), key=lambda change: -abs(change.difference))


def _listed(changes: Iterable[PlaceChange]) -> list[PlaceChange]:
    return [change for change in changes if abs(change.difference) >= LEAST_INSNS]


def _function_row(change: PlaceChange) -> tuple[str, ...]:
    before, after = change.baseline, change.tested
    per_call = _per_call(before, after)
    return (
        change.place.function,
        change.place.context.value,
        change.place.hook,
        change.module,
        _calls(before.calls, after.calls),
        _signed(change.difference),
        "" if per_call is None else _signed(per_call),
    )


def _per_call(before: Amount, after: Amount) -> float | None:
    if before.calls <= 0 or after.calls <= 0:
        return None
    return after.insns / after.calls - before.insns / before.calls


def _matters(item: WholeHook) -> bool:
    """Say whether a hook is more than a trace of what the idle guest did."""
    calls = max(item.baseline_calls, item.tested_calls)
    return calls >= _LEAST_CALLS or abs(item.difference) >= LEAST_INSNS


def _hook_entry(item: WholeHook) -> dict[str, Any]:
    return {
        "hook": item.hook,
        "context": item.context.value,
        "deferred": not item.context.inline,
        "baseline_calls": item.baseline_calls,
        "tested_calls": item.tested_calls,
        "difference_insns": item.difference,
        "functions": [_place_entry(change) for change in _listed(item.functions)],
    }


def _place_entry(change: PlaceChange) -> dict[str, Any]:
    return {
        "function": change.place.function,
        "context": change.place.context.value,
        "deferred": not change.place.context.inline,
        "hook": change.place.hook,
        "module": change.module,
        "baseline_calls": change.baseline.calls,
        "tested_calls": change.tested.calls,
        "difference_insns": change.difference,
        "difference_per_call": _per_call(change.baseline, change.tested),
    }


def _named_changes(changes: Sequence[PlaceChange]) -> str:
    listed = _listed(changes)
    return _largest([(_with_context(change), change.difference) for change in listed])


def _with_context(change: PlaceChange) -> str:
    context = change.place.context
    return change.place.function if context.inline else f"{change.place.function} ({context.value})"


def _largest(functions: Sequence[tuple[str, float]]) -> str:
    names = ", ".join(f"{name} {_signed(insns)}" for name, insns in functions[:_NAMED])
    more = len(functions) - _NAMED
    return f"{names}, {more} more" if more > 0 else names


def _signed(insns: float) -> str:
    return f"{round(insns, 1) + 0.0:+,.1f}"  # no -0.0


def _calls(before: float, after: float) -> str:
    old, new = f"{before:,.2f}", f"{after:,.2f}"
    return new if old == new else f"{old} → {new}"
