# SPDX-License-Identifier: GPL-2.0-or-later
"""A stored run is shown as it was measured: what would be ignored is refused."""

from __future__ import annotations

import pytest

from tests.conftest import Lsmeter
from tests.unit.test_summaries import MAIN


def test_kernels_of_one_run_alone_are_not_counted_as_compared(lsmeter: Lsmeter) -> None:
    done = lsmeter("compare", str(MAIN), str(MAIN.with_name("arches.lsmeter")))
    assert done.code == 0
    assert "18 benchmarks, debian:6.1 (" in " ".join(done.out.split())
    assert "see the problems" not in done.out
    assert "without a number" not in done.out
    assert "Only after: kernels debian:6.12, " in " ".join(done.out.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("history", MAIN, "--setup", "tomoyo"), f"--setup: {MAIN} is shown as it was measured"),
        (("history", MAIN, "--boots", "3"), f"--boots: {MAIN} is shown as it was measured"),
        (("hooks", "count", MAIN, "--arch", "arm64"), "--arch: "),
        (("slopes", MAIN), f"{MAIN}: nothing was measured in it that lsmeter slopes shows"),
        (("hooks", "count", MAIN), "that lsmeter hooks count shows"),
        (("hooks", "coverage", MAIN), "that lsmeter hooks coverage shows"),
        (("history", MAIN, "--plot", "no/p.svg"), "--plot: no: no such directory"),
        (("publish", MAIN, "--output", "file"), "--output: file: not a directory"),
        (("validate", MAIN, MAIN, "-s", "landlock"), f"--setup: {MAIN} is shown as it was"),
        (("validate", MAIN, MAIN, "--boots", "30"), f"--boots: {MAIN} is shown as it was"),
        (("calibrate", MAIN, MAIN, "--fresh"), f"--fresh: {MAIN} is shown as it was measured"),
        (("calibrate", "show", "--kernel", "debian:6.1"), "--kernel: a calibration is shown as it"),
        (("validate", MAIN, MAIN), f"{MAIN}: no time was measured in it"),
    ],
)
def test_what_a_stored_run_cannot_show_is_refused(
    lsmeter: Lsmeter, words: tuple[str, ...], said: str
) -> None:
    (lsmeter.home / "file").write_text("")
    done = lsmeter(*map(str, words))
    assert done.code == 2
    assert said in " ".join(done.err.split())
