# SPDX-License-Identifier: GPL-2.0-or-later
"""Call paths of an account as profilers read them: exact counts of both sides; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from lsmeter.measure.tasks.events import EVENTS
from lsmeter.questions.attribution.account import Account
from lsmeter.questions.attribution.events import has_events
from lsmeter.questions.attribution.flame import file_stems
from lsmeter.tables.stacks import Call, Stack, Stacks

# A node counts its instructions whether or not it has events.
_EVENTS = [(at, name) for at, name in enumerate(EVENTS) if name != "insns"]


def account_stacks(accounts: Iterable[Account]) -> tuple[Stacks, ...]:
    """Return the call paths of each account; events only where both sides counted them."""
    return tuple(
        Stacks(
            stem,
            item.label,
            ("instructions", "calls", *(name for _, name in _counted(item))),
            partial(_read, item),
            tuple(f"{name}: it has no call tree on both sides" for name in item.missing),
        )
        for stem, item in file_stems(accounts)
    )


def _counted(item: Account) -> list[tuple[int, str]]:
    return _EVENTS if has_events(item.pairs) else []


def _read(item: Account) -> Iterator[Stack]:
    counted = _counted(item)
    sides = ((item.tested, item.after, False), (item.baseline, item.before, True))
    for cell, trees, base in sides:
        for name, tree in trees.items():
            labels = {"benchmark": name, "setup": cell.cell.place.setup}
            paths: list[tuple[Call, ...]] = []
            for node in tree.nodes:
                above = paths[node.parent] if node.parent >= 0 else ()
                paths.append((*above, Call(*node.function)))
                events = dict(node.events)
                counts = (events.get(at, 0) for at, _ in counted)
                yield Stack(paths[-1], (node.self_insns, node.calls, *counts), labels, base)
