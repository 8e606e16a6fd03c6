# SPDX-License-Identifier: GPL-2.0-or-later
"""A command that guests run once, with a tree of files of its own."""

from __future__ import annotations

from dataclasses import dataclass

SUITE = "exec"  # of the benchmarks that a command is
USER, ALL = "user", "all"  # values of their parameter `part`; without one: the kernel's part


@dataclass(frozen=True)
class Command:
    """What is run, and in what; tree is the SHA-256 of the archive of its files.

    words are the program's path in the tree and its arguments, shown what a person typed. status is
    the exit status that it must leave with.
    """

    name: str
    words: tuple[str, ...]
    shown: str
    tree: str
    directory: str
    environment: tuple[str, ...] = ()
    status: int = 0
    deadline_s: int = 40  # of guest time

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """The ids of what is counted of it: the kernel's part, all, and the user's part."""
        return (self.name, f"{self.name} part={ALL}", f"{self.name} part={USER}")
