# SPDX-License-Identifier: GPL-2.0-or-later
"""Words and rows of the section on where the cost comes from; every format places them; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsmeter.report import numbers
from lsmeter.report.listing import Listing, names
from lsmeter.report.listing import numbers as number_columns

if TYPE_CHECKING:
    from lsmeter.hooks.attribution.account import Account, HookLine
    from lsmeter.hooks.attribution.whole_account import WholeAccount, WholeHookLine

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
        "last instruction"
    )
    text += f"; {item.doubtful} are not known to repeat." if item.doubtful else "."
    if item.missing:
        text += f" Not explained, for want of attribution: {', '.join(item.missing)}."
    return text


def listings(item: Account) -> tuple[Listing, ...]:
    """Return all tables of one setup: of the readings, then of the whole cost."""
    whole = () if item.whole is None else whole_listings(item.whole)
    return (hooks(item), residue(item), *whole)


def whole_listings(item: WholeAccount) -> tuple[Listing, ...]:
    """List what changed in whole costs by context, by hook, and why outside of them."""
    lead = (
        f"{round(item.difference_insns):+,} instructions over one cycle of {item.operations} "
        "operations, with all work that they leave to be done later."
    )
    contexts = tuple(
        (
            line.context,
            "deferred" if line.deferred else "in line",
            f"{round(line.hook_insns):+,}",
            f"{round(line.outside_insns):+,}",
        )
        for line in item.contexts
    )
    later = tuple(
        (
            line.hook,
            line.context,
            _rounded_calls(line),
            f"{round(line.difference_insns):+,}",
            numbers.percent(line.share, sign=False),
        )
        for line in item.hooks
    )
    causes = tuple(
        (line.cause, f"{round(line.difference_insns):+,}", f"{line.operations}")
        for line in item.causes
    )
    columns = (*names("hook", "context"), *number_columns("calls", "instructions", "share"))
    more = _more(item.more_hooks, "hooks")
    found = [
        Listing(
            "Whole cost by context",
            (*names("context", "when"), *number_columns("hooks", "non-hook")),
            contexts,
            lead=(lead,),
        ),
        Listing(
            "Hooks in the whole cost",
            columns,
            later,
            lead=("What a hook has done later is in a row of its own.",),
            more=more,
        ),
    ]
    if causes:
        columns = (*names("cause"), *number_columns("instructions", "operations"))
        proved = ("Stated only where the call trees prove it.",)
        found.append(Listing("Why non-hook cost grew", columns, causes, lead=proved))
    return tuple(found)


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


def _rounded_calls(line: WholeHookLine) -> str:
    before, after = f"{line.baseline_calls:,.1f}", f"{line.calls:,.1f}"
    return after if before == after else f"{before} \N{RIGHTWARDS ARROW} {after}"


def _more(count: int, what: str) -> tuple[str, ...]:
    return (f"{count:,} more {what}.",) if count else ()
