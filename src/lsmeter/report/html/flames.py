# SPDX-License-Identifier: GPL-2.0-or-later
"""Gathers what the HTML page shows of where the cost comes from: words, tables, flame graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsmeter.hooks.attribution.flame import difference_flame_graph, flame_graph
from lsmeter.report import origin
from lsmeter.report.html import svg
from lsmeter.report.html.page import Figure
from lsmeter.report.listing import Listing
from lsmeter.report.model import Report

if TYPE_CHECKING:
    from lsmeter.hooks.attribution.account import Account


@dataclass(frozen=True)
class Origin:
    """What is shown of one setup."""

    heading: str
    sentence: str
    listings: tuple[Listing, ...]
    figures: tuple[Figure, ...]


def origins(report: Report) -> tuple[Origin, ...]:
    """Return what the page shows of every setup that was explained."""
    return tuple(_origin(item, place) for place, item in enumerate(report.accounts, 1))


def _origin(item: Account, place: int) -> Origin:
    heading = origin.label(item)
    return Origin(
        heading,
        origin.sentence(item),
        origin.listings(item),
        _figures(item, heading, place),
    )


def _figures(item: Account, heading: str, place: int) -> tuple[Figure, ...]:
    change = difference_flame_graph([item.baseline_tree], [item.tested_tree], title=heading)
    whole = flame_graph([item.tested_tree], title=f"{item.setup}, every operation once")
    wanted = (
        (
            "What changed",
            (
                "Width: inclusive instructions, the larger of both sides; the root is at the "
                f"bottom. Red grew over {item.baseline_setup}, blue shrank, by the function's "
                "own instructions. Every frame has its numbers in its title."
            ),
            change,
        ),
        (
            "Where instructions are spent",
            (
                "Width: inclusive instructions of all operations, each once. Colour: the module "
                "of the function."
            ),
            whole,
        ),
    )
    return tuple(
        Figure(
            title,
            caption,
            svg.inlined(
                drawing,
                identity=f"flame-{place}-{number}",
                title=f"{title}: {heading}",
                description=caption,
            ),
        )
        for number, (title, caption, drawing) in enumerate(wanted)
    )
