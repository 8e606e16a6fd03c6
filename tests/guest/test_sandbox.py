# SPDX-License-Identifier: GPL-2.0-or-later
"""The suite `sandbox` in real guests: an access that Landlock denies far below, and its set-up."""

from __future__ import annotations

import pytest

from tests.conftest import Lsmeter
from tests.runs import Report, each, measured, told, values

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("debian_kernel")]

MOST, LAST = "landlock:layers=16,rules=1", "landlock:layers=15,rules=1"
NESTED = ("openat nested=1", "openat nested=100")
DENIED = ("openat-denied nested=1", "openat-denied nested=100")
MADE = ("landlock-create", "landlock-add rules=10")
RESTRICTED = ("landlock-restrict rules=1", "landlock-restrict rules=100")
FILTERED = ("seccomp-load length=10", "seccomp-load length=100")
NAMES = (*NESTED, *DENIED, *MADE, *RESTRICTED, *FILTERED, "restrict-nothing")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    lsmeter = Lsmeter(tmp_path_factory.mktemp("sandbox"))
    asked = ("--suite", "sandbox", "-k", "debian:6.1", "--quick", "--samples", "10")
    setups = each("--setup", ("capability", LAST, MOST))
    # What was named and could not be measured is said by the exit code.
    return measured(lsmeter, *asked, *setups, *each("--benchmark", NAMES), code=1)


def test_a_denied_open_is_checked_in_every_directory_up_to_the_root(report: Report) -> None:
    plain, layered = values(report, "capability"), values(report, MOST)
    # Without a layer all four are the same call on the same file, and succeed.
    assert len({plain[name] for name in (*NESTED, *DENIED)}) == 1
    upwards = {}
    for one, hundred in (NESTED, DENIED):
        assert plain[one] < layered[one]
        upwards[one] = (layered[hundred] - layered[one]) / 99
    assert upwards[NESTED[0]] == upwards[DENIED[0]] > 50
    # Granted, the check ends at the rule; denied, at the root.
    assert layered[NESTED[0]] < layered[DENIED[0]]


def test_a_sandbox_costs_by_its_rules_and_the_length_of_its_filter(report: Report) -> None:
    found = values(report, LAST)
    assert found["getppid"] < min(found[name] for name in MADE)
    for few, many in (RESTRICTED, FILTERED):
        assert found["restrict-nothing"] < found[few] < found[many]


def test_what_cannot_be_set_up_is_said(report: Report) -> None:
    unmeasured = {(item["setup"], item["benchmark"]) for item in report["problems"]}
    assert unmeasured == {
        *(("capability", name) for name in (*MADE, *RESTRICTED)),
        *((MOST, name) for name in RESTRICTED),
    }
    assert "there is no Landlock: Operation not supported" in told(report)
    assert "there is no Landlock with a layer left" in told(report)
