# SPDX-License-Identifier: GPL-2.0-or-later
"""Text from outside cannot steer a terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.printable import printable


def test_controls_and_direction_marks_become_escapes() -> None:
    assert printable("a\x1b[31m\u202eb\n") == r"a\x1b[31m\u202eb\n"
    assert printable("grün µs °") == "grün µs °"
    assert printable("a\nb\tc", keep="\n\t") == "a\nb\tc"


@given(st.text(alphabet=st.characters(), max_size=50))
def test_the_result_prints(text: str) -> None:
    assert printable(text).isprintable()
    assert printable(printable(text)) == printable(text)
