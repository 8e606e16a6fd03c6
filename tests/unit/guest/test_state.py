# SPDX-License-Identifier: GPL-2.0-or-later
"""What modules say of themselves, as numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lsmeter.guest.session import MAX_NUMBERS, parse_numbers

CACHE = """lookups hits misses allocations reclaims frees
100 90 10 10 0 0
5 5 0 0 0 1
"""
HASH = "entries: 508\nbuckets used: 264/512\nlongest chain: 5\n"


def test_rows_of_a_table_are_added_up() -> None:
    found = dict(parse_numbers(CACHE))
    assert found["lookups"] == 105
    assert found["frees"] == 1


def test_lines_with_a_name_and_a_number() -> None:
    assert parse_numbers(HASH) == (
        ("entries", 508),
        ("buckets_used", 264),
        ("buckets_used_of", 512),
        ("longest_chain", 5),
    )


def test_a_short_row_is_left_out() -> None:
    assert dict(parse_numbers("a b\n1 2\n7\n")) == {"a": 1, "b": 2}


@given(st.text(max_size=3000))
def test_nothing_makes_it_fail(text: str) -> None:
    found = parse_numbers(text)
    assert len(found) <= 2 * MAX_NUMBERS
    assert all(value >= 0 for _, value in found)
