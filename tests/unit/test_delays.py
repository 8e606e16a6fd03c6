# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.errors import UsageError
from lsmeter.measure.tasks.sweep import DEFAULT, LIMIT_NS, parse_delays


def test_the_default_is_the_sweep_of_the_study() -> None:
    assert parse_delays(DEFAULT) == tuple(range(0, 110_001, 10_000))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0:10:5", (0, 5, 10)),
        ("0:11:5", (0, 5, 10)),  # a last value that the steps do not meet is not invented
        ("9000,0,5000,0", (0, 5000, 9000)),
    ],
)
def test_accepted(text: str, expected: tuple[int, ...]) -> None:
    assert parse_delays(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no range and no list"),
        ("0:110000", "no range and no list"),
        ("-1:10:1", "no range and no list"),
        ("0,1,x", "no range and no list"),
        ("0:10:0", "empty range"),
        ("10:0:1", "empty range"),
        ("0:999999999:1", "1000000000 delays; a line needs 3 to 512"),
        ("0:10000:10000", "2 delays; a line needs 3"),
        ("0,1,10000001", "10000001 ns is more than the 10000000 ns"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match="--delays") as caught:
        parse_delays(text)
    assert message in caught.value.title
    assert "0:110000:10000" in caught.value.hint


@given(st.text(max_size=40))
def test_any_text_gives_delays_or_a_usage_error(text: str) -> None:
    try:
        delays = parse_delays(text)
    except UsageError:
        return
    assert list(delays) == sorted(set(delays))
    assert 0 <= delays[0] <= delays[-1] <= LIMIT_NS
