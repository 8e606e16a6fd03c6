# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of what a guest pays once: policy load, relabelling, boot; pure."""

from __future__ import annotations

from lsmeter.evidence import BOOT_TITLE
from lsmeter.report import numbers
from lsmeter.report.listing import Chapter, Listing, names
from lsmeter.report.listing import numbers as number_columns
from lsmeter.report.model import Report

_RULE = (
    "What a guest pays once, before anything is measured: guest time, told in instructions; what "
    "it waits for counts as well. Guest boot: the kernel's start and its modules, before the "
    "first step of the setup. Least and most of all boots, and the one in the middle."
)
_COUNTS = number_columns("instructions", "least", "most", "boots")


def chapter(report: Report) -> Chapter:
    """List the steps of each setup, and the guest boots of all."""
    steps: dict[str, list[tuple[str, ...]]] = {}
    boots: dict[str, list[tuple[str, ...]]] = {}
    for item in report.one_off:
        where = f"{item.kernel} ({item.filesystem}, user {item.user})"
        counts = (item.insns, item.low_insns, item.high_insns, item.boots)
        cells = tuple(map(numbers.count, counts))
        if item.title == BOOT_TITLE:
            boots.setdefault(f"Guest boot on {where}", []).append((item.setup, *cells))
        else:
            steps.setdefault(f"{item.setup} on {where}", []).append((item.title, *cells))
    listings = [Listing(at, (*names("step"), *_COUNTS), tuple(rows)) for at, rows in steps.items()]
    listings += [
        Listing(at, (*names("setup"), *_COUNTS), tuple(rows)) for at, rows in boots.items()
    ]
    return Chapter("one-off", "One-off costs", _RULE, tuple(listings))
