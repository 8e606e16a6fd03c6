# SPDX-License-Identifier: GPL-2.0-or-later
"""What attribution found, as tables and as JSON; pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lsmeter.hooks.attribution.explain import Explanation, FunctionChange, HookChange
from lsmeter.hooks.attribution.load import ExplainedSetup
from lsmeter.hooks.attribution.summary import HookShare, RunDiff, hook_shares, module_functions
from lsmeter.hooks.attribution.whole_explain import WholeExplanation
from lsmeter.hooks.attribution.whole_summary import whole_total
from lsmeter.hooks.attribution.whole_tables import (
    cause_entry,
    cause_table,
    whole_diff_entry,
    whole_entry,
    whole_tables,
)
from lsmeter.hooks.source.tables import Table

FORMAT_VERSION = 1
_NAMED = 3  # functions that a cell of a table names


def cost_tables(explained: ExplainedSetup, *, functions: int = 10) -> tuple[Table, ...]:
    """Return one setup's tables: operations, hooks, and the dearest functions of each module."""
    where = f"{explained.tested.cell.setup} over {explained.baseline.cell.setup}"
    shares = shares_of(explained)
    return (
        _operations(explained, where),
        _hooks(shares, where),
        *_functions(explained, shares, functions),
        *whole_tables(explained.wholes, total_of(explained), where),
        *cause_table(explained.operations.values(), explained.wholes.values(), where),
    )


def total_of(explained: ExplainedSetup) -> WholeExplanation | None:
    """Return the whole cost over the operations of which it was explained."""
    return whole_total(explained.baseline.wholes, explained.tested.wholes, explained.wholes)


def shares_of(explained: ExplainedSetup) -> tuple[HookShare, ...]:
    """Return every hook over the operations that were explained."""
    return hook_shares(explained.before, explained.after)


def diff_tables(found: RunDiff, where: str) -> tuple[Table, ...]:
    """Return what changed between two runs: hooks, functions, operations."""
    return (
        Table(
            "hooks",
            f"Hooks that changed: {where}",
            ("hook", "calls", "instructions", "per call", "functions that changed"),
            tuple(
                (
                    item.hook,
                    _calls(item.baseline_calls, item.tested_calls),
                    f"{item.difference:+,}",
                    _per_call(item.per_call),
                    _names(item.functions),
                )
                for item in found.hooks
            ),
            note="Sums over one run of each operation, with all that runs below the hook.",
        ),
        Table(
            "functions",
            f"Functions whose own instructions changed: {where}",
            ("function", "module", "calls", "instructions", "per call"),
            tuple(
                (
                    item.function.name,
                    item.function.module,
                    _calls(item.baseline.calls, item.tested.calls),
                    f"{item.difference:+,}",
                    _per_call(item.per_call),
                )
                for item in found.functions
            ),
        ),
        Table(
            "operations",
            f"Operations that changed: {where}",
            ("operation", "instructions", "hooks"),
            tuple(
                (
                    item.benchmark,
                    f"{item.difference:+,}",
                    ", ".join(f"{hook.hook} {hook.difference:+,}" for hook in item.hooks[:_NAMED]),
                )
                for item in found.operations
                if item.difference or item.functions
            ),
        ),
    )


def cost_document(setups: Iterable[ExplainedSetup]) -> str:
    """Return all explanations as JSON; docs/attribution.md describes the fields."""
    content = {"format_version": FORMAT_VERSION, "setups": [_setup(item) for item in setups]}
    return json.dumps(content, indent=1) + "\n"


@dataclass(frozen=True)
class SetupDiff:
    """What changed in one setup between two runs: readings, whole costs by operation, their sum."""

    setup: str
    inline: RunDiff
    wholes: Mapping[str, WholeExplanation]
    total: WholeExplanation | None


def diff_document(found: Iterable[SetupDiff]) -> str:
    """Return what changed, setup by setup, as JSON; docs/attribution.md describes the fields."""
    setups = [
        {
            "setup": item.setup,
            "hooks": [_hook(hook) for hook in item.inline.hooks],
            "functions": [_function(change) for change in item.inline.functions],
            "operations": [
                {
                    "benchmark": operation.benchmark,
                    "difference_insns": operation.difference,
                    "hooks": [_hook(hook) for hook in operation.hooks],
                    "functions": [_function(change) for change in operation.functions],
                }
                for operation in item.inline.operations
            ],
            "only_a": item.inline.only_a,
            "only_b": item.inline.only_b,
            "whole": None if item.total is None else whole_diff_entry(item.total),
            "whole_operations": [
                {"benchmark": benchmark, **whole_diff_entry(whole)}
                for benchmark, whole in item.wholes.items()
            ],
        }
        for item in found
    ]
    return json.dumps({"format_version": FORMAT_VERSION, "setups": setups}, indent=1) + "\n"


def _operations(explained: ExplainedSetup, where: str) -> Table:
    rows = []
    for name, item in explained.operations.items():
        rows.append(
            (
                name,
                f"{explained.baseline.values[name]:,}",
                f"{explained.tested.values[name]:,}",
                f"{item.difference:+,}",
                f"{item.hook_insns:+,}",
                f"{item.residue_insns:+,}",
                f"{item.interrupt_insns + item.unseen_insns:+,}",
                _names(item.residue),
            )
        )
    return Table(
        "operations",
        f"Where the cost comes from, in instructions: {where}",
        (
            *("operation", "baseline", "tested", "difference", "hooks", "residue"),
            *("interrupts, idle", "largest of the residue"),
        ),
        tuple(rows),
        note="difference = hooks + residue + interrupts, idle; the residue is what changed "
        "outside of the hooks.",
    )


def _hooks(shares: Sequence[HookShare], where: str) -> Table:
    return Table(
        "hooks",
        f"Hooks over all operations, in instructions: {where}",
        ("hook", "calls", "per call", "before", "difference", "share", "by module"),
        tuple(
            (
                item.change.hook,
                _calls(item.change.baseline_calls, item.change.tested_calls),
                f"{item.insns_per_call:,.1f}",
                _before(item.change),
                f"{item.change.difference:+,}",
                "" if item.share is None else f"{item.share:.1%}",
                ", ".join(
                    f"{module or 'kernel'} {insns:+,}"
                    for module, insns in item.change.modules
                    if insns
                ),
            )
            for item in shares
        ),
        note="Every operation counted once; the share is that of the whole difference.",
    )


def _functions(
    explained: ExplainedSetup, shares: Sequence[HookShare], count: int
) -> Iterable[Table]:
    modules: dict[str, int] = {}
    for item in shares:
        for module, insns in item.change.modules:
            modules[module] = modules.get(module, 0) + abs(insns)
    for module in sorted(modules, key=lambda name: (-modules[name], name)):
        if not module or not modules[module]:
            continue
        costs = module_functions(explained.after.values(), module)[:count]
        yield Table(
            f"functions-{module}",
            f"Dearest functions of {module} ({explained.tested.cell.setup})",
            ("function", "calls", "own instructions", "with all below"),
            tuple(
                (
                    cost.function.name,
                    f"{cost.calls:,}",
                    f"{cost.self_insns:,}",
                    f"{cost.inclusive_insns:,}",
                )
                for cost in costs
            ),
        )


def _setup(explained: ExplainedSetup) -> dict[str, Any]:
    tested, baseline = explained.tested, explained.baseline
    total = total_of(explained)
    return {
        "kernel": tested.cell.kernel,
        "setup": tested.cell.setup,
        "baseline_setup": baseline.cell.setup,
        "filesystem": tested.cell.filesystem,
        "user": tested.cell.user,
        "operations": [
            {
                "benchmark": name,
                "baseline_insns": baseline.values[name],
                "tested_insns": tested.values[name],
                "repeats": name in tested.repeats and name in baseline.repeats,
                **_explanation(item),
            }
            for name, item in explained.operations.items()
        ],
        "hooks": [
            {**_hook(item.change), "share": item.share, "operations": item.operations}
            for item in shares_of(explained)
        ],
        "missing": sorted({*tested.missing, *baseline.missing}),
        "whole": None if total is None else whole_entry(total),
        "whole_operations": [
            {"benchmark": name, **whole_entry(item)} for name, item in explained.wholes.items()
        ],
        "no_whole": {**baseline.no_whole, **tested.no_whole},
    }


def _explanation(item: Explanation) -> dict[str, Any]:
    return {
        "difference_insns": item.difference,
        "hook_insns": item.hook_insns,
        "residue_insns": item.residue_insns,
        "interrupt_insns": item.interrupt_insns,
        "unseen_insns": item.unseen_insns,
        "exact": item.exact,
        "doubt": item.doubt,
        "hooks": [_hook(hook) for hook in item.hooks],
        "residue": [_function(change) for change in item.residue],
        "causes": [cause_entry(cause) for cause in item.causes],
    }


def _hook(item: HookChange) -> dict[str, Any]:
    return {
        "hook": item.hook,
        "baseline_calls": item.baseline_calls,
        "tested_calls": item.tested_calls,
        "baseline_insns": item.baseline_insns,
        "tested_insns": item.tested_insns,
        "difference_insns": item.difference,
        "difference_per_call": item.per_call,
        "modules": {module or "kernel": insns for module, insns in item.modules},
        "functions": [_function(change) for change in item.functions],
    }


def _function(item: FunctionChange) -> dict[str, Any]:
    return {
        "function": item.function.name,
        "module": item.function.module,
        "baseline_calls": item.baseline.calls,
        "tested_calls": item.tested.calls,
        "difference_insns": item.difference,
        "difference_per_call": item.per_call,
    }


def _names(functions: Sequence[FunctionChange]) -> str:
    changed = [item for item in functions if item.difference]
    names = ", ".join(f"{item.function.name} {item.difference:+,}" for item in changed[:_NAMED])
    more = len(changed) - _NAMED
    return f"{names}, {more} more" if more > 0 else names


def _calls(before: int, after: int) -> str:
    return f"{after:,}" if before == after else f"{before:,} → {after:,}"


def _before(change: HookChange) -> str:
    calls = change.baseline_calls
    return f"{change.baseline_insns / calls:,.1f}" if calls else ""


def _per_call(value: float | None) -> str:
    return "" if value is None else f"{value:+,.1f}"
