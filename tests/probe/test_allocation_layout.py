# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects in first pages of slabs are found by what they cost, and held."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S

SOURCES = Path(__file__).parents[2] / "probe"
HARNESS = Path(__file__).with_name("layout_harness.c")


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("layout") / "harness"
    flags = ("-O1", "-D_GNU_SOURCE", f"-I{SOURCES}", "-Wall", "-Wextra", "-Werror")
    source = SOURCES / "layout" / "allocation_layout.c"
    words = ["cc", *flags, "-o", str(program), str(HARNESS), str(source)]
    subprocess.run(words, check=True)
    return program


def hold(
    harness: Path, seed: int, objects: int, slab: int, first: int, stray: int = 0
) -> tuple[int, int, int]:
    """Return how many are held, how many of the next lie in first pages, and how many do in all."""
    words = [str(harness), *map(str, (seed, objects, slab, first, stray))]
    done = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_S, check=True)
    held, wrong, right = map(int, done.stdout.split())
    return held, wrong, right


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("objects", "slab", "first"), [(96, 32, 4), (24, 8, 1), (48, 30, 15)])
def test_none_of_the_next_lies_in_a_first_page(
    harness: Path, seed: int, objects: int, slab: int, first: int
) -> None:
    held, wrong, right = hold(harness, seed, objects, slab, first)
    assert wrong == 0
    assert 0 < held <= right


@pytest.mark.parametrize("seed", range(20))
def test_a_stray_measurement_is_no_place(harness: Path, seed: int) -> None:
    held, wrong, _ = hold(harness, seed, 96, 32, 4, stray=40)
    assert held > 0
    assert wrong <= 4  # those that were measured astray themselves


@pytest.mark.parametrize("seed", range(5))
def test_where_all_places_cost_the_same_nothing_is_held(harness: Path, seed: int) -> None:
    assert hold(harness, seed, 96, 32, 0, stray=40)[:2] == (0, 0)


def test_what_cannot_be_taken_is_an_error(harness: Path) -> None:
    assert hold(harness, 1, 0, 32, 4)[0] < 0
