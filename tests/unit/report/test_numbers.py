# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from lsmeter.tables import numbers


def test_unit_and_instrument_are_named() -> None:
    exact = numbers.measure("insns", "exact")
    assert exact == "instructions per operation, exact instrument"
    timed = numbers.measure("ns", "timed")
    assert timed == "nanoseconds per operation, timed instrument"
    assert numbers.measure("MB/s", "timed") == "MB/s, timed instrument"
