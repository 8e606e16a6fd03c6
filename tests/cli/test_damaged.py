# SPDX-License-Identifier: GPL-2.0-or-later
"""What shows a run of which something is damaged: all that is left, the damage, and the code."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lsmeter.measure.results.directory import read_manifest
from tests.cli.conftest import CAPTURES
from tests.cli.test_replay import FINE, FIVE, measured
from tests.conftest import InProcess, Lsmeter
from tests.unit.kernels.synthetic import bzimage, elf

_OPEN = ("--benchmark", "open depth=[123]", "--benchmark", "getppid")
_SWEEP = ("--setup", "tunable-bpf", "--lookups", "selinux", "--delays", "0:2000:1000")
_PAIR = ("--setup", "capability", "--setup", "selinux", "--benchmark", "open depth=1")
_RUNS = {
    "costs": FINE,
    "slopes": ("slopes", *_SWEEP, *_OPEN),
    "counts": ("hooks", "count", *FIVE),
    "origins": ("run", "--attribute", *_PAIR, "--samples", "5", "--quick", "--boots", "1"),
}
_SHOWN = [
    ("costs", "report costs"),
    ("costs", "report costs -f json"),
    ("costs", "report costs -s selinux"),
    ("costs", "compare costs sound"),
    ("costs", "compare sound costs"),
    ("costs", "history costs"),
    ("slopes", "report slopes"),
    ("slopes", "slopes slopes"),
    ("counts", "report counts"),
    ("counts", "hooks count counts"),
    ("counts", "hooks agree counts slopes"),
    ("origins", "report origins"),
    ("origins", "hooks cost origins"),
    ("origins", "hooks diff origins sound-origins"),
    ("origins", "hooks diff sound-origins origins"),
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Measure one run of each kind, once."""
    home = tmp_path_factory.mktemp("runs")
    (home / "kernel").write_bytes(bzimage(elf(), release="6.1.0-56-cloud-amd64"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LSMETER_REPLAY", str(CAPTURES))
        lsmeter = InProcess(home, patch)
        for name, words in _RUNS.items():
            assert measured(lsmeter, *words, run=name).code == 0
        yield home


@pytest.fixture
def copies(in_process: InProcess, runs: Path) -> Lsmeter:
    """Return the command beside copies of the runs; two more are sound."""
    for name in _RUNS:
        shutil.copytree(runs / name, in_process.home / name)
    shutil.copytree(runs / "costs", in_process.home / "sound")
    shutil.copytree(runs / "origins", in_process.home / "sound-origins")
    return in_process


def _damage(run: Path, chosen: Callable[[Path], bool]) -> None:
    for boot in sorted((run / "boots").iterdir()):
        for path in boot.iterdir() if chosen(boot) else ():
            path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize(("run", "words"), _SHOWN)
def test_what_is_whole_ends_with_0_and_what_is_all_damaged_with_7(
    copies: Lsmeter, run: str, words: str
) -> None:
    assert copies(*words.split()).code == 0
    _damage(copies.home / run, lambda _: True)
    done = copies(*words.split())
    assert done.code == 7
    assert "damaged" in done.out + done.err


@pytest.mark.parametrize(
    ("run", "words"), [item for item in _SHOWN if item[0] == "costs" and "sound costs" not in item]
)
def test_what_is_damaged_in_part_ends_with_1_and_shows_the_rest(
    copies: Lsmeter, run: str, words: str
) -> None:
    first = min((copies.home / run / "boots").iterdir())
    _damage(copies.home / run, lambda boot: boot == first)
    done = copies(*words.split())
    assert done.code == 1
    assert "open" in done.out
    assert "damaged" in done.out + done.err


def test_an_attribution_that_is_damaged_costs_no_other_number(copies: Lsmeter) -> None:
    for path in (copies.home / "origins").glob("boots/*/attribution.zst"):
        path.write_bytes(b"")
    assert copies("history", "origins").code == 1
    shown = copies("report", "origins")
    assert (shown.code, "+30.6 %" in shown.out) == (1, True)
    cost = copies("hooks", "cost", "origins")
    assert cost.code == 7
    assert "all of its attribution is damaged" in " ".join(cost.err.split())


def test_a_run_without_attribution_is_a_wrong_word(copies: Lsmeter) -> None:
    _damage(copies.home / "costs", lambda _: True)
    done = copies("hooks", "cost", "costs")
    assert (done.code, "has no attribution" in done.err) == (2, True)


def test_what_is_left_out_of_a_report_changes_no_code(copies: Lsmeter) -> None:
    cells = read_manifest(copies.home / "costs").cells
    (lost,) = [cell.hash for cell in cells if cell.place.setup == "selinux"]
    _damage(copies.home / "costs", lambda boot: boot.name.startswith(lost))
    assert copies("report", "costs").code == 1
    assert copies("report", "costs", "-s", "capability").code == 0
