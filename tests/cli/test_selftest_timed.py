# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter selftest timed` of a run that is there, and runs that cannot grow, as users type."""

from __future__ import annotations

import json

import pytest

from tests.conftest import InProcess
from tests.unit.selftest.test_timed import SPUN_NS, found

GROWING = ("run", "--instrument", "timed", "--until-conclusive")


@pytest.mark.parametrize(("ns", "code"), [(SPUN_NS, 0), (0.0, 8)])
def test_a_run_is_judged_again_and_nothing_else_is_done(
    in_process: InProcess, ns: float, code: int
) -> None:
    found(in_process.home / "r", ns)
    done = in_process("selftest", "timed", "r", "--format", "json")
    assert done.code == code, done.err
    shown = json.loads(done.out)
    assert (shown["passed"], len(shown["spun"])) == (code == 0, 2)
    assert shown.keys() & {"rates", "growing"} == set()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("selftest", "timed", "--boots", "5"), "--boots"),
        (("run", "--until-conclusive"), "counts of the instrument exact have no noise"),
        (
            (*GROWING, "--boots", "9", "--blocks-max", "9"),
            "the run begins with 9",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    in_process: InProcess, words: tuple[str, ...], said: str
) -> None:
    done = in_process(*words)
    assert (done.code, said in " ".join(done.err.split())) == (2, True), done.err
