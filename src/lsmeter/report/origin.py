# SPDX-License-Identifier: GPL-2.0-or-later
"""Words and rows of the section on where the cost comes from; every format places them; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsmeter.report import numbers
from lsmeter.report.listing import Listing, names
from lsmeter.report.listing import numbers as number_columns

if TYPE_CHECKING:
    from lsmeter.hooks.attribution.account import Account, HookLine

HEADING = "Where the cost comes from"
RULE = (
    "Guest instructions, every operation counted once. The residue is what changed outside of "
    "the hooks, by function."
)


def label(item: Account) -> str:
    """Name the setup and what it is compared with."""
    place = f"{item.kernel}, {item.filesystem}, {item.user}"
    return f"{item.setup} over {item.baseline_setup} ({place})"


def sentence(item: Account) -> str:
    """Say how the difference is made up, and how much of it is explained."""
    parts = f"hooks {item.hook_insns:+,}, residue {item.residue_insns:+,}"
    if item.other_insns:
        parts += f", interrupts and idling {item.other_insns:+,}"
    text = (
        f"{item.difference_insns:+,} instructions over {item.operations} operations: {parts}. "
        f"Hooks and named functions explain {item.exact} of {item.operations} operations to the "
        "last instruction."
    )
    if item.missing:
        text += f" Not explained, for want of attribution: {', '.join(item.missing)}."
    return text


def hooks(item: Account) -> Listing:
    """List the hooks with the largest change."""
    rows = tuple(
        (
            line.hook,
            _calls(line),
            f"{line.difference_insns:+,}",
            numbers.percent(line.share, sign=False),
        )
        for line in item.hooks
    )
    columns = (*names("hook"), *number_columns("calls", "instructions", "share"))
    return Listing("Hooks", columns, rows, more=_more(item.more_hooks, "hooks"))


def residue(item: Account) -> Listing:
    """List the functions outside of the hooks with the largest change."""
    rows = tuple(
        (line.function, line.module or "kernel", f"{line.difference_insns:+,}")
        for line in item.residue
    )
    more = _more(item.more_residue, "functions")
    columns = (*names("function", "module"), *number_columns("instructions"))
    return Listing("Residue", columns, rows, more=more)


def _calls(line: HookLine) -> str:
    if line.calls == line.baseline_calls:
        return f"{line.calls:,}"
    return f"{line.baseline_calls:,} \N{RIGHTWARDS ARROW} {line.calls:,}"


def _more(count: int, what: str) -> tuple[str, ...]:
    return (f"{count:,} more {what}.",) if count else ()
