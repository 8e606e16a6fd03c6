# SPDX-License-Identifier: GPL-2.0-or-later
"""The suite `sandbox` in real guests: an access that Landlock denies far below, and its set-up."""

from __future__ import annotations

import pytest

from tests.conftest import Lsmeter
from tests.runs import Report, each, measured, told, values

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("debian_kernel")]

LAYERS = "landlock:layers=16,rules=1"
NESTED = ("openat nested=1", "openat nested=100")
DENIED = ("openat-denied nested=1", "openat-denied nested=100")
MADE = ("landlock-create", "landlock-add rules=10", "restrict-nothing")
RESTRICTED = ("landlock-restrict rules=1", "landlock-restrict rules=100")
FILTERED = ("seccomp-load length=10", "seccomp-load length=100")


def sandbox(lsmeter: Lsmeter, *words: str, names: tuple[str, ...]) -> Report:
    asked = ("--suite", "sandbox", "-k", "debian:6.1", "--quick", "--samples", "20")
    # What was named and could not be measured is said by the exit code.
    return measured(lsmeter, *asked, *words, *each("--benchmark", names), code=1)


def unmeasured(report: Report) -> set[tuple[str, str]]:
    return {(item["setup"], item["benchmark"]) for item in report["problems"]}


def test_a_denied_open_is_checked_in_every_directory_up_to_the_root(lsmeter: Lsmeter) -> None:
    setups = ("-s", "capability", "-s", LAYERS, "--condition", "lsms=landlock")
    report = sandbox(lsmeter, *setups, names=(*NESTED, *DENIED, *RESTRICTED[:1]))
    # The last layer that there is has been put on: a process cannot have one more.
    assert unmeasured(report) == {(LAYERS, RESTRICTED[0])}
    assert "there is no Landlock with a layer left" in told(report)
    plain, layered = values(report, "capability"), values(report, LAYERS)
    # Without a layer all four are the same call on the same file, and succeed.
    assert len({plain[name] for name in (*NESTED, *DENIED)}) == 1
    upwards = {}
    for one, hundred in (NESTED, DENIED):
        assert plain[one] < layered[one]
        upwards[one] = (layered[hundred] - layered[one]) / 99
    assert upwards[NESTED[0]] == upwards[DENIED[0]] > 50
    # Granted, the check ends at the rule; denied, at the root.
    assert layered[NESTED[0]] < layered[DENIED[0]]


def test_a_sandbox_costs_by_its_rules_and_the_length_of_its_filter(lsmeter: Lsmeter) -> None:
    names = (*MADE, *RESTRICTED, *FILTERED)
    report = sandbox(lsmeter, "-s", "capability", "-s", "landlock", names=names)
    of_landlock = {name for name in names if name.startswith("landlock")}
    assert unmeasured(report) == {("capability", name) for name in of_landlock}
    assert "there is no Landlock: Operation not supported" in told(report)
    found = values(report, "landlock")
    assert found["getppid"] < min(found[name] for name in of_landlock)
    for few, many in (RESTRICTED, FILTERED):
        assert found["restrict-nothing"] < found[few] < found[many]
