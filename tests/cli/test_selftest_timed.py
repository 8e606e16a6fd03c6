# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter selftest timed` without a machine, and runs that cannot grow, as a user types them."""

from __future__ import annotations

import json

import pytest

from tests.conftest import InProcess

SMALL = ("selftest", "timed", "--simulated", "--replicates", "20", "--blocks", "8")
GROWING = ("run", "--instrument", "timed", "--until-conclusive")


def test_it_simulates_without_measuring(in_process: InProcess) -> None:
    done = in_process(*SMALL, "--format", "json", "--seed", "42")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert (found["passed"], found["replicates"], found["blocks"]) == (True, 20, 8)
    assert len(found["rates"]) == 7
    assert len(found["growing"]) == 14
    assert found["spun"] == []
    assert not list(in_process.home.rglob("manifest.json"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("selftest", "timed", "--replicates", "5"), "--replicates"),
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
