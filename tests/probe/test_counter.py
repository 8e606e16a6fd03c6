# SPDX-License-Identifier: GPL-2.0-or-later
"""How the probe reads what a module counts itself, and takes off what reading costs."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lsmeter.core.model.boot import UNREAD
from tests.conftest import DEADLINE_S

SOURCES = Path(__file__).parents[2] / "probe"
HARNESS = Path(__file__).with_name("counter_harness.c")

# SELinux's avc/cache_stats, with two processors.
AVC = "lookups hits misses allocations reclaims frees\n{} {} 7 7 0 0\n{} 0 0 0 0 0\n"

Count = Callable[..., dict[str, int]]


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("counter") / "harness"
    flags = ("-O1", "-D_GNU_SOURCE", "-Dpread=harness_pread", f"-I{SOURCES}")
    names = ("observe/counter.c", "protocol/text.c")
    sources = [str(HARNESS), *(str(SOURCES / name) for name in names)]
    warnings = ("-Wall", "-Wextra", "-Werror")
    subprocess.run(["cc", *flags, *warnings, "-o", str(program), *sources], check=True)
    return program


def said(harness: Path, folder: Path, *texts: str, line: str = "") -> tuple[int, str]:
    path = folder / "numbers"
    path.touch()
    words = [str(harness), line or f"avc {path}", *texts]
    done = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert not done.stderr
    return done.returncode, done.stdout


@pytest.fixture
def count(harness: Path, tmp_path: Path) -> Count:
    def counted(*texts: str) -> dict[str, int]:
        code, out = said(harness, tmp_path, *texts)
        assert code == 0, out
        return {line.split()[0]: int(line.split()[1]) for line in out.splitlines()}

    return counted


def test_rows_of_a_table_are_added_up_and_the_cost_of_reading_is_taken_off(count: Count) -> None:
    """Reading looks up 4 times, on the second processor; the stretch 6 times, 5 of them hits."""
    found = count(AVC.format(100, 90, 10), AVC.format(100, 90, 14), AVC.format(106, 95, 18))
    assert found == {
        "avc.lookups": 6,
        "avc.hits": 5,
        **dict.fromkeys(("avc.misses", "avc.allocations", "avc.reclaims", "avc.frees"), 0),
    }


@pytest.mark.parametrize("sign", [": ", " ", ":\t"])
def test_lines_of_a_name_and_a_number(count: Count, sign: str) -> None:
    texts = [f"Rules seen{sign}{n}\nno number\nhits{sign}{2 * n}\n" for n in (5, 6, 10)]
    # Without a colon a name is one word.
    assert count(*texts) == {"avc.hits": 6} | ({} if sign == " " else {"avc.rules_seen": 3})


def test_a_stretch_that_counts_nothing_is_0_whatever_reading_costs(count: Count) -> None:
    assert count("calls 10\n", "calls 13\n", "calls 16\n") == {"avc.calls": 0}


@pytest.mark.parametrize("last", ["calls 12\n", "calls 5\n", "calls 99999999999\n", "", "gone\n"])
def test_what_went_back_or_too_far_or_was_not_read_is_no_number(count: Count, last: str) -> None:
    assert count("calls 10\n", "calls 13\n", last) == {"avc.calls": UNREAD}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("nothing to count\n", "", "there is no number in it"),
        ("", "", "there is no number in it"),
        ("calls 1\n", "avc /no/such/file", "No such file or directory"),
        ("calls 1\n", "avc", "it must be a name and a path"),
    ],
)
def test_what_cannot_be_counted_is_said(
    harness: Path, tmp_path: Path, text: str, line: str, message: str
) -> None:
    code, out = said(harness, tmp_path, text, text, text, line=line)
    assert code == 1
    assert out.startswith("counter 'avc")
    assert message in out


def test_a_file_of_more_numbers_than_there_is_room_for_keeps_within_it(count: Count) -> None:
    lines = [f"n{number:02} {{}}\n" for number in range(60)]
    texts = ["".join(lines).format(*[value] * 60) for value in (1, 1, 3)]
    found = count(*texts)
    assert len(found) == 32
    assert set(found.values()) == {2}
