# SPDX-License-Identifier: GPL-2.0-or-later
"""Call trees as folded stacks, one line per stack, as flame graph tools read them; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lsmeter.hooks.attribution.profile import Function, Tree


@dataclass
class Frame:
    """A function in a tree that is merged from several."""

    function: Function
    self_insns: int = 0
    calls: int = 0
    children: dict[Function, Frame] = field(default_factory=dict)

    def child(self, function: Function) -> Frame:
        """Return the child for a function, made when there is none."""
        return self.children.setdefault(function, Frame(function))


def merge(trees: Iterable[Tree], title: str) -> Frame:
    """Merge trees below one root called `title`."""
    root = Frame(Function(title))
    for tree in trees:
        frames: list[Frame] = []
        for node in tree.nodes:
            parent = frames[node.parent] if node.parent >= 0 else root
            frame = parent.child(node.function)
            frame.self_insns += node.self_insns
            frame.calls += node.calls
            frames.append(frame)
    return root


def folded(trees: Mapping[str, Tree]) -> str:
    """Write every stack below its benchmark's name, with the instructions of its own."""
    lines = []
    for name in sorted(trees):
        for stack, insns in sorted(_stacks(merge((trees[name],), name))):
            if insns > 0:
                lines.append(f"{stack} {insns}")
    return "".join(f"{line}\n" for line in lines)


def folded_difference(baseline: Mapping[str, Tree], tested: Mapping[str, Tree]) -> str:
    """Write the stacks of both with two numbers each, as tools for difference graphs read them."""
    lines = []
    for name in sorted(baseline.keys() & tested.keys()):
        before = dict(_stacks(merge((baseline[name],), name)))
        after = dict(_stacks(merge((tested[name],), name)))
        for stack in sorted(before.keys() | after.keys()):
            numbers = max(before.get(stack, 0), 0), max(after.get(stack, 0), 0)
            if any(numbers):
                lines.append(f"{stack} {numbers[0]} {numbers[1]}")
    return "".join(f"{line}\n" for line in lines)


def _stacks(root: Frame) -> list[tuple[str, int]]:
    """Return each stack as text with its own instructions."""
    found: list[tuple[str, int]] = []
    work = [(root, _clean(root.function.name))]
    while work:
        frame, stack = work.pop()
        found.append((stack, frame.self_insns))
        work += [
            (child, f"{stack};{_clean(child.function.name)}") for child in frame.children.values()
        ]
    return found


def _clean(name: str) -> str:
    """Keep the two characters that have a meaning in the format out of a name."""
    return name.replace(";", ":").replace(" ", "_")
