# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads what the plugin wrote, strictly and within limits; pure.

The text is made of whole blocks. What follows the last whole block was being written when the
guest was killed, and is passed over; anything else that is not as it must be is an error, since
half a call tree would give wrong numbers. docs/attribution.md describes the format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from lsmeter.errors import GuestError
from lsmeter.hooks.attribution.profile import Function, Node, Profile, Region, Tree

HEADERS = ("lsmeter-attribution 1", "lsmeter-attribution 2")  # before and since sums
MAX_BYTES = 512 << 20
MAX_NODES = 1 << 18

_REGION = re.compile(r"region (\d{1,5}) (\d{1,18}) (\d{1,18}) (\d{1,18}) (\d{1,18})")
_TOTAL = re.compile(r"t (-?\d{1,18}) (\d{1,18})")
_TREE = re.compile(r"tree (-?\d{1,18})")
_SUM = re.compile(r"sum (-?\d{1,18}) (\d{1,18})")
_NODE = re.compile(
    r"n (\d{1,7}) (\d{1,7}) (\d{1,10}) (-?\d{1,18}) ([!-~][ -~]{0,511}?)(?:@([a-z]{1,32}))?"
)
_TAIL = re.compile(r"(stray|refused) (\d{1,18})")


def parse_profile(text: str, *, where: str) -> Profile:
    """Read a plugin's output; GuestError names the line that is wrong."""
    if len(text) > MAX_BYTES:
        raise _wrong(where, 1, f"larger than {MAX_BYTES >> 20} MiB")
    return _Reader(text, where).read()


def _wrong(where: str, number: int, what: str) -> GuestError:
    return GuestError(
        f"{where}:{number}: {what}",
        hint="the attribution of this boot is damaged; run it again",
    )


class _Reader:
    """Walks over the lines, and knows where it is for errors."""

    def __init__(self, text: str, where: str) -> None:
        self._lines = text.split("\n")
        # What the last newline ends is whole; what follows it is not.
        self._rest = self._lines.pop()
        self._where = where
        self._number = 1
        self._regions: dict[int, Region] = {}
        self._tail: dict[str, int] = {}
        self._functions: dict[tuple[str, str | None], Function] = {}

    def read(self) -> Profile:
        if not self._lines or self._lines[0] not in HEADERS:
            raise self._wrong(f"does not begin with '{HEADERS[-1]}'")
        self._number = 1
        whole = False
        for number, block in self._blocks():
            self._number = number
            if block == ["eof"]:
                whole = True
            elif block[0].startswith("region "):
                region = self._region(block)
                self._regions[region.id] = region
            else:
                self._read_tail(block[0])
        if whole and self._rest:
            raise self._wrong("text after the end")
        return Profile(
            tuple(self._regions[key] for key in sorted(self._regions)),
            self._tail.get("stray", 0),
            self._tail.get("refused", 0),
            whole,
        )

    def _blocks(self) -> Iterator[tuple[int, list[str]]]:
        """Give each block with the number of its first line; a last one without end is left out."""
        start = 1
        while start < len(self._lines):
            stop = start + 1
            if self._lines[start].startswith("region "):
                while stop < len(self._lines) and not self._lines[stop - 1].startswith("end "):
                    stop += 1
                if not self._lines[stop - 1].startswith("end "):
                    return
            yield start + 1, self._lines[start:stop]
            if self._lines[start] == "eof" and stop < len(self._lines):
                self._number = stop + 1
                raise self._wrong("text after the end")
            start = stop

    def _region(self, block: list[str]) -> Region:
        header = self._match(_REGION, block[0])
        region_id, samples, uncounted, damaged, aborted = map(int, header.groups())
        totals: list[tuple[int, int]] = []
        line = 1
        while block[line].startswith("t "):
            self._number += 1
            match = self._match(_TOTAL, block[line])
            totals.append((int(match[1]), int(match[2])))
            line += 1
        last = next((i for i, text in enumerate(block) if text.startswith("sum ")), len(block) - 1)
        trees = self._trees(block[line:last], dict(totals))
        total, summed = self._sum(block[last:-1])
        self._number += 1
        if block[-1] != f"end {region_id}":
            raise self._wrong(f"region {region_id} ends as {block[-1][:60]!r}")
        if sum(count for _, count in totals) + uncounted != samples:
            raise self._wrong(f"region {region_id}: its totals are not of {samples} samples")
        if summed > samples:
            raise self._wrong(f"region {region_id}: a sum over {summed} of {samples} samples")
        read = tuple(totals), trees, total, summed
        return Region(region_id, samples, uncounted, damaged, aborted, *read)

    def _sum(self, lines: list[str]) -> tuple[Tree | None, int]:
        if not lines:
            return None, 0
        self._number += 1
        match = self._match(_SUM, lines[0])
        return self._tree(int(match[1]), lines[1:]), int(match[2])

    def _tree(self, insns: int, lines: list[str]) -> Tree:
        nodes = self._nodes(lines)
        found = sum(node.self_insns for node in nodes)
        if found != insns:
            raise self._wrong(f"the tree of {insns} instructions has {found}")
        return Tree(insns, nodes)

    def _trees(self, lines: list[str], totals: dict[int, int]) -> tuple[Tree, ...]:
        """Read trees; the most frequent comes first, the smallest of several."""
        starts = [index for index, line in enumerate(lines) if line.startswith("tree ")]
        if lines and starts[:1] != [0]:
            self._number += 1
            raise self._wrong(f"expected a total, a tree or the end: {lines[0][:60]!r}")
        trees = []
        for start, stop in pairwise([*starts, len(lines)]):
            self._number += 1
            insns = int(self._match(_TREE, lines[start])[1])
            trees.append(self._tree(insns, lines[start + 1 : stop]))
            if insns not in totals:
                raise self._wrong(f"no sample has the {insns} instructions of a tree")
        return tuple(sorted(trees, key=lambda tree: (-totals[tree.insns], tree.insns)))

    def _nodes(self, lines: list[str]) -> tuple[Node, ...]:
        if len(lines) > MAX_NODES:
            raise self._wrong(f"more than {MAX_NODES} nodes")
        nodes: list[Node] = []
        fullmatch, functions = _NODE.fullmatch, self._functions
        for index, line in enumerate(lines, 1):
            match = fullmatch(line)
            self._number += 1
            if match is None:
                raise self._wrong(f"not understood: {line[:60]!r}")
            number, parent, calls, self_insns, *key = match.groups()
            above = int(parent)
            if int(number) != index or above >= index:
                raise self._wrong("nodes out of order")
            function = functions.get((key[0], key[1]))
            if function is None:
                function = functions[key[0], key[1]] = Function(key[0], key[1] or "")
            nodes.append(Node(above - 1, function, int(calls), int(self_insns)))
        return tuple(nodes)

    def _read_tail(self, line: str) -> None:
        match = self._match(_TAIL, line)
        if match[1] in self._tail:
            raise self._wrong(f"{match[1]} is there twice")
        self._tail[match[1]] = int(match[2])

    def _match(self, pattern: re.Pattern[str], line: str) -> re.Match[str]:
        match = pattern.fullmatch(line)
        if match is None:
            raise self._wrong(f"not understood: {line[:60]!r}")
        return match

    def _wrong(self, what: str) -> GuestError:
        return _wrong(self._where, self._number, what)
