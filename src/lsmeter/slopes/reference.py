# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the slopes that a study printed, from the reference data of this package."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources

from lsmeter.slopes.model import Published

_TABLE6 = "asiaccs21-table6.csv"


@cache
def table6() -> tuple[Published, ...]:
    """Return Table 6 and the slopes of section 5.2.1 of the ASIA CCS'21 study."""
    text = (resources.files("lsmeter") / "reference" / _TABLE6).read_text(encoding="utf-8")
    return parse(text)


def parse(text: str) -> tuple[Published, ...]:
    """Read such a table; lines that begin with # are remarks."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return tuple(
        Published(row["benchmark"], float(row["slope"]), row["place"], row["note"])
        for row in csv.DictReader(lines)
    )
