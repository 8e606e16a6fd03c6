# SPDX-License-Identifier: GPL-2.0-or-later
"""Attribution by operation: a table and a chart of operations against hooks; pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from lsmeter.core.groups import grouped
from lsmeter.questions.attribution.account import Account
from lsmeter.questions.attribution.explain import Explanation
from lsmeter.tables.look import EMPTY, GRID, LABEL, SERIES, WIDTH, Specification, channel, finish
from lsmeter.tables.model import Column, Figure, Kind, Shown, Table, Tone, Value
from lsmeter.tables.svg import plotted
from lsmeter.tables.values import count

_TITLE = "Hooks by operation"
_LEAD = (
    "Instructions of one call, tested - baseline, and calls of the hook in brackets; mean over the "
    "variants of each operation. Hooks without security_."
)
_CAPTION = (
    "Instructions of one call, tested - baseline, by the hook in which they are spent; mean over "
    "the variants of each operation. Left of zero is less than the baseline."
)
_LEAST = 0.5  # instructions: less is no difference
_DRAWN = 6  # hooks with a colour of their own
# What has a column and is no hook: key, head, and colour.
_ALL, _REST, _OUTSIDE, _OTHER, _UNSEEN = "difference", "other_hooks", "outside", "other", "unseen"
_HEADS = {
    _REST: "other hooks",
    _OUTSIDE: "non-hook",
    _OTHER: "interrupts, idle",
    _UNSEEN: "not in trees",
}
_COLOURS = {_REST: SERIES[7], _OUTSIDE: SERIES[0], _OTHER: EMPTY, _UNSEEN: GRID}


class _Part(NamedTuple):
    """A part of a difference; if it is a hook's, with the calls of both sides."""

    insns: float = 0
    before: float = 0
    after: float = 0

    def cell(self) -> Value:
        before, after = (count(round(calls, 1)) for calls in (self.before, self.after))
        calls = f" ({after if before == after else f'{before}→{after}'})"
        insns = round(self.insns)
        return Shown(
            self.insns, f"{insns:{'+,' if insns else ''}}{calls * bool(self[1:] != (0, 0))}"
        )


_Parts = Mapping[str, _Part]


def table(item: Account, most: int | None = None) -> Table:
    """Return a table of operations against hooks: the `most` largest have a column of their own."""
    total, operations = _parts(item.typical.total), _operations(item)
    names = _names(total, operations, most)
    rows = {name: _folded(parts, names) for name, parts in (*operations.items(), ("sum", total))}
    same = [name for name in item.typical.by_operation if name not in operations]
    columns = (Column(f"{name}_insns", _head(name), Kind.CHANGE) for name in (_ALL, *names))
    return Table(
        "by-operation",
        _TITLE,
        (Column("operation", "operation", Kind.NAME), *columns),
        tuple(
            (
                Shown(label, label, Tone.HEADING if label == "sum" else Tone.PLAIN),
                *(parts[name].cell() if name in parts else None for name in (_ALL, *names)),
            )
            for label, parts in rows.items()
            if operations
        ),
        lead=(_LEAD,),
        more=(f"Without a difference: {', '.join(same)}.",) if same else (),
    )


def chart(item: Account) -> Figure:
    """Return a chart of the hooks that the cost of each operation comes from."""
    return plotted(_TITLE, _CAPTION, partial(_bars, item), named=f"{_TITLE}: {item.label}")


def _bars(item: Account) -> Specification | None:
    """Draw a bar for each operation, stacked by part."""
    operations = _operations(item)
    names = _names(_parts(item.typical.total), operations, _DRAWN)
    rows = [
        {"operation": label, "part": _head(name), "insns": parts[name].insns, "order": place}
        for label, parts in ((label, _folded(parts, names)) for label, parts in operations.items())
        for place, name in enumerate(names)
        if name in parts
    ]
    heads = [_head(name) for name in names]
    colours = [_COLOURS.get(name, SERIES[place % 6 + 1]) for place, name in enumerate(names)]
    legend = {"title": None, "orient": "top", "columns": 4, "columnPadding": 40}
    scale = {"domain": heads, "range": colours}
    axis = {"title": "instructions", "format": "+,d", "tickCount": 6}
    bar = {
        "data": {"values": rows},
        "mark": {"type": "bar", "height": {"band": 0.7}},
        "encoding": {
            "y": channel("operation:N", sort=list(operations), title=None),
            "x": channel("insns:Q", stack="zero", axis=axis),
            "color": channel("part:N", scale=scale, sort=heads, legend=legend),
            "order": channel("order:Q"),
        },
        "width": WIDTH - LABEL,
        "height": 21 * len(operations),
    }
    return finish(bar) if rows else None


def _head(name: str) -> str:
    return _HEADS.get(name, name.removeprefix("security_"))


def _operations(item: Account) -> dict[str, dict[str, _Part]]:
    """Return the parts of each operation that has a difference in any of them."""
    found = {label: _parts(one) for label, one in item.typical.by_operation.items()}
    return {k: v for k, v in found.items() if any(abs(part.insns) >= _LEAST for part in v.values())}


def _parts(item: Explanation) -> dict[str, _Part]:
    """Return the difference by hook, in line, outside of hooks, in interrupts, and in no tree."""
    sums = {
        _ALL: item.clock_insns,
        _OUTSIDE: item.outside_inline_insns,
        _OTHER: item.deferred_insns,
        _UNSEEN: item.unseen_insns or 0,
    }
    found = {name: _Part(insns) for name, insns in sums.items() if abs(insns) >= _LEAST}
    inline = grouped((hook.hook, hook) for hook in item.hooks if hook.context.inline)
    for name, hooks in inline.items():
        values = ((i.difference_insns, i.baseline_calls, i.tested_calls) for i in hooks)
        found[name] = _Part(*map(sum, zip(*values, strict=True)))
    return found


def _names(total: _Parts, operations: Mapping[str, _Parts], most: int | None) -> list[str]:
    """Name the parts that have a column: the `most` largest hooks first."""
    size: dict[str, float] = {}
    for parts in (total, *operations.values()):
        for name, part in parts.items():
            size[name] = max(size.get(name, 0), abs(part.insns))
    hooks = [name for name in size if name not in {_ALL, *_HEADS} and size[name] >= _LEAST]
    hooks.sort(key=lambda name: (-size[name], name))
    rest = [_REST] if len(hooks[:most]) < len(hooks) else []
    return [*hooks[:most], *rest, *(name for name in (_OUTSIDE, _OTHER, _UNSEEN) if name in size)]


def _folded(parts: _Parts, names: list[str]) -> dict[str, _Part]:
    """Return the parts that have a column; the other hooks are one part."""
    found = {name: part for name, part in parts.items() if name in {_ALL, *names}}
    others = [part.insns for name, part in parts.items() if name not in found]
    rest = [insns for insns in others if abs(insns) >= _LEAST]
    return found | ({_REST: _Part(sum(rest))} if rest else {})
