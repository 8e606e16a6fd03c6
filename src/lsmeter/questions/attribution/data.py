# SPDX-License-Identifier: GPL-2.0-or-later
"""Accounts as plain values for programs (`lsmeter help report-json`); pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from lsmeter.questions.attribution import events
from lsmeter.questions.attribution.account import Account, Explained
from lsmeter.questions.attribution.cost import Change
from lsmeter.questions.attribution.explain import Cause, Explanation, HookChange, by_context
from lsmeter.questions.cells.rows import PLACE
from lsmeter.tables.fields import Each, Field, Maybe, Row, named

LEAST_INSNS = 0.5  # of one operation: a smaller change of a whole cost is not listed
_LEAST_CALLS = 0.01
_IN_REPORT = 12  # hooks, and functions, of an account
_OF_LAYER = 5

# Names of attributes that are keys too.
_CALLS = ("baseline_calls", "tested_calls", "difference_insns")
_FUNCTION = ("function", "module", *_CALLS, "difference_per_call")
_SITE = ("context", "deferred", "hook", *_FUNCTION)
_HOOK = ("hook", *_CALLS, "baseline_insns", "tested_insns", "difference_per_call")
_WHOLE_HOOK = ("context", "deferred", "hook", *_CALLS)
_SUMS = (
    *("difference_insns", "hook_inline_insns", "hook_deferred_insns"),
    *("outside_inline_insns", "outside_deferred_insns", "reported_insns", "unseen_insns"),
)

Entry = dict[str, Any]
C = TypeVar("C", bound=Change)


def listed(changes: Iterable[C]) -> list[C]:
    """Return the changes that are not next to nothing."""
    return [item for item in changes if abs(item.difference_insns) >= LEAST_INSNS]


def _typical_of(item: Account) -> Collection[Explanation]:
    return item.typical.benchmarks.values()


def _picked(item: object, names: Iterable[str]) -> Entry:
    return {name: getattr(item, name) for name in names}


def _first(
    name: str, line: Sequence[Field], count: int, of: Callable[[Any], Sequence[object]]
) -> tuple[Field, Field]:
    """Return the fields of the largest changes, and of how many more there are."""
    return (
        Field(name, value=lambda item: of(item)[:count], of=Each(Row(tuple(line)))),
        Field(f"more_{name}", value=lambda item: max(0, len(of(item)) - count), of=int),
    )


def _hooks(total: str, count: int, *, contexts: bool = False) -> tuple[Field, Field]:
    read = attrgetter(total)
    names = [named("hook"), *([named("context")] * contexts)]
    numbers = map(Field, ("baseline_calls", "calls", "difference_insns", "share"))

    def parts(item: object) -> list[Entry]:
        found: Explanation = read(item)
        share = found.share_of_trees if contexts else found.share
        return [
            _picked(hook, _WHOLE_HOOK) | {"calls": hook.tested_calls, "share": share(hook)}
            for hook in listed(found.hooks)
        ]

    return _first("hooks", (*names, *numbers), count, parts)


_CHANGED = (named("function"), named("module"), Field("difference_insns"))
_OPERATIONS = Field("operations", value=lambda i: len(i.typical.by_operation), of=int)
_CONTEXT = Row(
    (
        named("context"),
        Field("deferred", value=lambda item: not item.context.inline, of=bool),
        Field("hook_insns"),
        Field("outside_insns"),
    )
)
_CAUSE = Row(
    (named("cause", "words"), Field("difference_insns", value="insns"), Field("operations", of=int))
)
_WHOLE_SUMS = Row(
    (
        Field("operations", value=lambda item: len(item.by_operation), of=int),
        Field("baseline_insns", value="total.baseline.insns"),
        Field("difference_insns", value="total.difference_insns"),
        Field("reported_insns", value="total.reported_insns"),
        Field("contexts", value="total.contexts", of=Each(_CONTEXT)),
        *_hooks("total", _IN_REPORT, contexts=True),
        Field("causes", of=Each(_CAUSE)),
    )
)
# What the report's JSON has of an account, and of a layer: sums, and the largest changes.
ACCOUNT = Row(
    (
        *(*PLACE, named("baseline_setup", "baseline.cell.place.setup"), _OPERATIONS),
        Field("benchmarks", value=lambda i: len(_typical_of(i)), of=int),
        Field("exact", value=lambda i: sum(one.exact for one in _typical_of(i)), of=int),
        Field("doubtful", value=lambda i: sum(bool(one.doubt) for one in _typical_of(i)), of=int),
        Field("difference_insns", value="typical.total.clock_insns"),
        Field("hook_insns", value="typical.total.hook_inline_insns"),
        Field("residue_insns", value="typical.total.outside_inline_insns"),
        Field("other_insns", value="typical.total.other"),
        *_hooks("typical.total", _IN_REPORT),
        *_first(
            "residue",
            _CHANGED,
            _IN_REPORT,
            lambda i: [one for one in listed(i.typical.total.outside) if not one.deferred],
        ),
        Field("missing", of=Each(str)),
        Field(
            "whole", value=lambda i: i.whole if i.whole.benchmarks else None, of=Maybe(_WHOLE_SUMS)
        ),
    )
)
LAYER = Row(
    (
        *(*PLACE, named("over", "baseline.cell.place.setup"), _OPERATIONS),
        Field("difference_insns", value="typical.total.clock_insns"),
        *_hooks("typical.total", _OF_LAYER),
        *_first("functions", _CHANGED, _OF_LAYER, lambda i: listed(i.typical.total.functions)),
    )
)


def _place(item: Account) -> Entry:
    return {**vars(item.place), "baseline_setup": item.baseline.cell.place.setup}


def cost_entry(item: Account) -> Entry:
    """Return what the JSON of `hooks cost` has of an account: all explanations."""
    tested, baseline, typical, whole = item.tested, item.baseline, item.typical, item.whole
    return {
        **_place(item),
        "operations": [
            {
                "benchmark": name,
                "baseline_insns": baseline.values[name],
                "tested_insns": tested.values[name],
                "repeats": name in tested.repeats and name in baseline.repeats,
                **_typical(found),
            }
            for name, found in typical.benchmarks.items()
        ],
        "by_operation": [
            {"operation": name, **_typical(found)} for name, found in typical.by_operation.items()
        ],
        "hooks": [
            {
                **_hook(hook),
                "share": typical.total.share(hook),
                "operations": typical.callers(hook.hook),
            }
            for hook in typical.total.hooks
        ],
        "missing": list(item.missing),
        **events.entry(item),
        **_wholes(whole, _whole),
        "no_whole": {**baseline.no_whole, **tested.no_whole},
    }


def diff_entry(item: Account) -> Entry:
    """Return what the JSON of `hooks diff` has of an account: what changed between two runs."""
    typical = item.typical
    before, after = set(item.baseline.kept), set(item.tested.kept)
    return {
        **_place(item),
        "hooks": [_hook(hook) for hook in typical.total.changed_hooks],
        "functions": [_picked(change, _FUNCTION) for change in typical.total.functions],
        "operations": [
            {
                "benchmark": name,
                "difference_insns": found.clock_insns,
                "hooks": [_hook(hook) for hook in found.changed_hooks],
                "functions": [_picked(change, _FUNCTION) for change in found.functions],
            }
            for name, found in sorted(typical.benchmarks.items())
        ],
        "only_a": sorted(before - after),
        "only_b": sorted(after - before),
        **events.entry(item),
        **_wholes(item.whole, _whole_diff),
    }


def _wholes(item: Explained, entry: Callable[[Explanation], Entry]) -> Entry:
    operations = [{"benchmark": name, **entry(one)} for name, one in item.benchmarks.items()]
    return {"whole": entry(item.total) if operations else None, "whole_operations": operations}


def _typical(item: Explanation) -> Entry:
    return {
        "difference_insns": item.clock_insns,
        "hook_insns": item.hook_inline_insns,
        "residue_insns": item.outside_inline_insns,
        "interrupt_insns": item.outside_deferred_insns,
        **_picked(item, ("unseen_insns", "exact", "doubt")),
        "hooks": [_hook(hook) for hook in item.hooks],
        "residue": [_picked(change, _FUNCTION) for change in item.outside if change.context.inline],
        "causes": [_cause(cause) for cause in item.causes],
    }


def _whole(item: Explanation) -> Entry:
    return {
        "baseline_insns": item.baseline.insns,
        "tested_insns": item.tested.insns,
        **_picked(item, _SUMS),
        "hook_insns_by_context": by_context(item.hooks),
        "outside_insns_by_context": by_context(item.outside),
        "hooks": [_whole_hook(hook) for hook in item.hooks if _matters(hook)],
        "outside": [_picked(change, _SITE) for change in listed(item.outside)],
        "causes": [_cause(cause) for cause in item.causes],
    }


def _whole_diff(item: Explanation) -> Entry:
    inside, outside = by_context(item.hooks), by_context(item.outside)
    return {
        "difference_insns": item.difference_insns,
        "insns_by_context": {
            context: inside.get(context, 0.0) + outside.get(context, 0.0)
            for context in (*inside, *outside)
        },
        "functions": [_picked(change, _SITE) for change in listed(item.changes)],
    }


def _matters(hook: HookChange) -> bool:
    """Say whether a hook is more than a trace of what the idle guest did."""
    calls = max(hook.baseline_calls, hook.tested_calls)
    return calls >= _LEAST_CALLS or abs(hook.difference_insns) >= LEAST_INSNS


def _hook(hook: HookChange) -> Entry:
    return {
        **_picked(hook, _HOOK),
        "modules": {module or "kernel": insns for module, insns in hook.modules},
        "functions": [_picked(change, _FUNCTION) for change in hook.functions],
    }


def _whole_hook(hook: HookChange) -> Entry:
    functions = [_picked(change, _SITE) for change in listed(hook.functions)]
    return {**_picked(hook, _WHOLE_HOOK), "functions": functions}


def _cause(item: Cause) -> Entry:
    return {
        "cause": item.words,
        "insns": item.insns,
        "functions": dict(item.functions),
        "evidence": dict(item.evidence),
    }
