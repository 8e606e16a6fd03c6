# SPDX-License-Identifier: GPL-2.0-or-later
"""What a report shows of attribution: each setup's hooks, residue and call trees, summed; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lsmeter.hooks.attribution.explain import (
    function_changes,
    merge_functions,
    take_apart,
)
from lsmeter.hooks.attribution.folded import Frame, merge
from lsmeter.hooks.attribution.load import ExplainedSetup
from lsmeter.hooks.attribution.profile import Node, Tree
from lsmeter.hooks.attribution.summary import HookShare, hook_shares
from lsmeter.hooks.attribution.whole_account import WholeAccount, whole_account

_SHOWN = 12  # hooks, and functions of the residue; what is left is summed


@dataclass(frozen=True)
class HookLine:
    """One hook over all operations, each counted once.

    share is its part of the whole difference (0.25 = 25 %), None when nothing changed.
    """

    hook: str
    baseline_calls: int
    calls: int
    difference_insns: int
    share: float | None


@dataclass(frozen=True)
class FunctionLine:
    """One function outside of the hooks over all operations: its own instructions."""

    function: str
    module: str
    difference_insns: int


@dataclass(frozen=True)
class Account:
    """Where the cost of one setup over its baseline comes from, each operation counted once.

    difference_insns = hook_insns + residue_insns + other_insns (interrupts, idle). exact counts
    the operations that hooks and named functions explain to the last instruction, doubtful those
    that would be if both sides were known to repeat. hooks and residue are the largest; more_hooks
    and more_residue say how many are left out. missing names the operations that could not be
    explained. The trees are those of all operations, merged. whole is None where no whole costs
    were measured.
    """

    kernel: str
    setup: str
    baseline_setup: str
    filesystem: str
    user: str
    operations: int
    exact: int
    doubtful: int
    difference_insns: int
    hook_insns: int
    residue_insns: int
    other_insns: int
    hooks: tuple[HookLine, ...]
    more_hooks: int
    residue: tuple[FunctionLine, ...]
    more_residue: int
    missing: tuple[str, ...]
    baseline_tree: Tree
    tested_tree: Tree
    whole: WholeAccount | None = None


def account(explained: ExplainedSetup) -> Account:
    """Sum one setup's explanations over its operations."""
    cell, items = explained.tested.cell, explained.operations
    before, after = explained.before, explained.after
    hooks = [_hook(item) for item in hook_shares(before, after) if item.change.difference]
    residue = _residue(before, after)
    missing = {*explained.tested.values, *explained.baseline.values} - set(items)
    return Account(
        kernel=cell.kernel,
        setup=cell.setup,
        baseline_setup=explained.baseline.cell.setup,
        filesystem=cell.filesystem,
        user=cell.user,
        operations=len(items),
        exact=sum(item.exact for item in items.values()),
        doubtful=sum(bool(item.doubt) for item in items.values()),
        difference_insns=sum(item.difference for item in items.values()),
        hook_insns=sum(item.hook_insns for item in items.values()),
        residue_insns=sum(item.residue_insns for item in items.values()),
        other_insns=sum(item.interrupt_insns + item.unseen_insns for item in items.values()),
        hooks=tuple(hooks[:_SHOWN]),
        more_hooks=max(0, len(hooks) - _SHOWN),
        residue=tuple(residue[:_SHOWN]),
        more_residue=max(0, len(residue) - _SHOWN),
        missing=tuple(sorted(missing)),
        baseline_tree=merged(before.values()),
        tested_tree=merged(after.values()),
        whole=whole_account(explained),
    )


def merged(trees: Iterable[Tree]) -> Tree:
    """Merge trees into one: the same stack is one node, in the order of first appearance."""
    nodes: list[Node] = []
    work: list[tuple[Frame, int]] = [
        (frame, -1) for frame in reversed(merge(trees, "all").children.values())
    ]
    while work:
        frame, parent = work.pop()
        here = len(nodes)
        nodes.append(Node(parent, frame.function, frame.calls, frame.self_insns))
        work += [(child, here) for child in reversed(frame.children.values())]
    return Tree(sum(node.self_insns for node in nodes), tuple(nodes))


def _hook(item: HookShare) -> HookLine:
    change = item.change
    return HookLine(
        change.hook, change.baseline_calls, change.tested_calls, change.difference, item.share
    )


def _residue(before: Mapping[str, Tree], after: Mapping[str, Tree]) -> list[FunctionLine]:
    old = merge_functions(take_apart(tree).outside for tree in before.values())
    new = merge_functions(take_apart(tree).outside for tree in after.values())
    return [
        FunctionLine(change.function.name, change.function.module, change.difference)
        for change in function_changes(old, new)
        if change.difference
    ]
