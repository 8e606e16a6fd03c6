# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from dataclasses import replace

import pytest

from lsmeter.core.model import Kernel
from lsmeter.questions.cells.builds import caveats
from tests.unit.model_builders import kernel

GCC_11 = "gcc-11 (Debian 11.3.0-12) 11.3.0"
GCC_12 = "gcc-12 (Debian 12.2.0-14+deb12u1) 12.2.0"


def built(name: str, **options: str) -> Kernel:
    """Return a kernel with an image of its own."""
    return replace(kernel(name, **options), image_sha256=name)


def test_builds_that_differ_in_a_patch_need_no_words() -> None:
    first = built("a", CC_VERSION_TEXT=GCC_12)
    second = built("b", CC_VERSION_TEXT=GCC_12)
    assert caveats([(first, second)]) == ()


def test_other_compilers_are_named_with_what_they_may_move() -> None:
    first, second = built("a", CC_VERSION_TEXT=GCC_11), built("b", CC_VERSION_TEXT=GCC_12)
    (text,) = caveats([(first, second), (first, second)])
    assert text.startswith("different compilers: gcc 12.2.0 against gcc 11.3.0; ")
    assert "-0.6 to +3.3 %" in text
    assert "0.6 points" in text


def test_two_packages_of_one_compiler_are_told_apart() -> None:
    other = GCC_12.replace("deb12u1", "deb12u2")
    first, second = built("a", CC_VERSION_TEXT=GCC_12), built("b", CC_VERSION_TEXT=other)
    (text,) = caveats([(first, second)])
    assert f"{other} against {GCC_12}" in text


@pytest.mark.parametrize(("security", "number"), [(True, 1), (False, 0)])
def test_security_options_count_between_runs_only(*, security: bool, number: int) -> None:
    first, second = built("a"), built("b", SECURITY_SMACK="y")
    found = caveats([(first, second)], security=security)
    assert len(found) == number
    assert all("SECURITY_SMACK=y against n" in text for text in found)


def test_an_option_that_is_not_set_is_no_difference_from_n() -> None:
    assert caveats([(built("a", KASAN="n"), built("b"))]) == ()


def test_many_options_are_counted() -> None:
    options = {f"HZ_{number}": "y" for number in range(9)}
    (text,) = caveats([(built("a"), built("b", **options))])
    assert text.endswith("and 3 more")


def test_what_is_not_known_is_said_and_one_image_is_no_difference() -> None:
    unknown = replace(built("b"), config={})
    (text,) = caveats([(built("a"), unknown)])
    assert text.startswith("how b was built is not known")
    assert caveats([(unknown, replace(unknown, name="again"))]) == ()
