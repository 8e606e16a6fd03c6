# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of a report beside its grids: whole costs, proofs, layers, states, one-off costs."""

from __future__ import annotations

from lsmeter.report.chapters import deciding, one_off, proofs, states, whole
from lsmeter.report.listing import Chapter
from lsmeter.report.model import Report


def chapters(report: Report, *, short: bool = False, narrow: bool = False) -> tuple[Chapter, ...]:
    """Return the chapters that a report has anything for.

    short ones have a row for each operation instead of one for each benchmark; narrow ones save
    columns, and lines where other formats have them all.
    """
    found = (
        whole.chapter(report, short=short, narrow=narrow),
        proofs.chapter(report),
        deciding.chapter(report, short=short, narrow=narrow),
        states.chapter(report, short=short or narrow),
        one_off.chapter(report),
    )
    return tuple(item for item in found if item.listings)
