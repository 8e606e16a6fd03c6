# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers with their intervals as a plot."""

from __future__ import annotations

import math

from lsmeter.tables.intervals import Bounded, intervals


def drawn(*found: Bounded) -> str:
    figure = intervals("Title", "Caption", "cost", 0.0, found)
    return "" if figure is None else figure.draw("plot-1")


def test_each_number_has_a_row_in_its_panel() -> None:
    text = drawn(
        Bounded("one", "selinux", 2.0, 1.0, 3.0),
        Bounded("two", "selinux", 20.0, None, None),
        Bounded("two", "smack", 30.0, 10.0, math.inf),
    )
    for name, times in (("one", 1), ("two", 1), ("selinux", 2), ("smack", 1)):
        assert text.count(f">{name}</text>") == times


def test_what_is_no_number_is_not_drawn() -> None:
    assert not drawn()
    assert not drawn(Bounded("one", "selinux", math.nan, 1.0, 3.0))
    assert "smack" not in drawn(
        Bounded("one", "selinux", 2.0, 1.0, 3.0), Bounded("one", "smack", math.inf, 1.0, 3.0)
    )
