# SPDX-License-Identifier: GPL-2.0-or-later
"""What setups add to the system calls of a command, as a plot; drawn when a page is made."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from lsmeter.questions.exec.figures import Measured, added_by_call
from lsmeter.tables.look import SERIES, Specification, channel, finish
from lsmeter.tables.model import Figure
from lsmeter.tables.svg import plotted

_MOST = 12  # calls: those that any setup adds most to
_WIDTH = 480
_STEP = 12  # pixels of a bar
_TITLE = "What each system call costs more"


def of_calls(base: Measured, others: Sequence[Measured]) -> Figure:
    """Return a bar for each setup at each of the calls to which one adds most."""
    caption = (
        f"Kernel instructions added over {base.place.setup}, by system call, in one run of the "
        f"command; the {_MOST} largest."
    )
    return plotted(_TITLE, caption, partial(_bars, base, others))


def _bars(base: Measured, others: Sequence[Measured]) -> Specification | None:
    rows: list[dict[str, object]] = []
    largest: dict[str, float] = {}
    for item in others:
        for row in added_by_call(base, item):
            largest[row.name] = max(largest.get(row.name, 0.0), abs(row.insns))
            rows.append({"call": row.name, "setup": item.place.setup, "added": row.insns})
    calls = sorted(largest, key=lambda name: -largest[name])[:_MOST]
    setups = [item.place.setup for item in others]
    if not any(largest.values()):
        return None
    colours = {"domain": setups, "range": [SERIES[i % len(SERIES)] for i in range(len(setups))]}
    encoding = {
        "y": channel("call:N", sort=calls, title=None),
        "yOffset": channel("setup:N", sort=setups),
        "x": channel("added:Q", title="kernel instructions added"),
        "color": channel("setup:N", scale=colours, legend={"title": None, "orient": "top"}),
    }
    shown = [row for row in rows if row["call"] in calls]
    plot = {"data": {"values": shown}, "mark": "bar", "encoding": encoding, "width": _WIDTH}
    return finish({**plot, "height": {"step": _STEP, "for": "offset"}})
