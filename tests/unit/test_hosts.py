# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of a machine that was measured as it ran."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.core.errors import UsageError
from lsmeter.core.model import BootProtocol
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.cost.build import compare_runs
from lsmeter.questions.cost.hosts import differences, warnings
from tests.unit.timed_builders import run

QUIET = {
    "host.cpu": "A CPU",
    "host.after.cpu": "A CPU",
    "host.online": "0-3",
    "host.load": "0.10 0.10 0.10 1/100 1",
    "host.clocksource": "tsc",
    "host.cycles_per_1000_ticks": "1500",
    "host.after.cycles_per_1000_ticks": "1503",
    "host.steal_10ms": "100",
    "host.after.steal_10ms": "100",
    "timing.life_ns": "1000000000",
    "timing.clock_set_ns": "250",
}


def made(path: Path, facts: Mapping[str, str], later: Mapping[str, str] | None = None) -> RunData:
    """Make a run of a machine as it ran; later has the facts of its second half."""
    found = run(path, {}, blocks=4, readings=5, facts={**QUIET, **facts})
    kernels = tuple(
        replace(kernel, boot_protocol=BootProtocol.RUNNING) for kernel in found.manifest.kernels
    )
    boots = tuple(
        replace(boot, facts=tuple({**dict(boot.facts), **later}.items()))
        if later and boot.index >= 2
        else boot
        for boot in found.boots
    )
    return replace(found, manifest=replace(found.manifest, kernels=kernels), boots=boots)


def test_a_machine_that_stays_as_it_is_gets_no_word(tmp_path: Path) -> None:
    assert warnings(made(tmp_path / "run", {})) == ()


@pytest.mark.parametrize(
    ("facts", "later", "said"),
    [
        ({"host.after.clocksource": "hpet"}, {}, "clock source changed"),
        ({"host.governor": "powersave"}, {"host.governor": "performance"}, "in block 2"),
        ({"host.boot_id": "a"}, {"host.boot_id": "b"}, "the boot changed"),
        ({"timing.clock": "tsc"}, {"timing.clock": "monotonic"}, "different clocks"),
        ({"timing.stray": "2 at first, 3 over all"}, {}, "did not run evenly in"),
        ({"timing.clock_set_ns": "-3600000000000"}, {}, "by up to -3600.000 s"),
        ({"host.load": "9.5 1 1 1/1 1"}, {}, "load 9.5 on 4 CPUs"),
        ({"host.after.steal_10ms": "120"}, {}, "hypervisor took 5%"),
        ({"timing.moved.open depth=1": "3 of 300"}, {}, "moved between CPUs in"),
        ({"host.cycles_per_1000_ticks": "1000"}, {}, "speed moved by"),
        ({}, {"turns.lost": "the others went on"}, "lost their turns"),
        ({}, {"boot.hung": "silent before the probe started"}, "6 of 12 guests hung in"),
    ],
)
def test_what_a_reader_has_to_know_is_said(
    tmp_path: Path, facts: dict[str, str], later: dict[str, str], said: str
) -> None:
    (text,) = warnings(made(tmp_path / "run", facts, later))
    assert said in text


@pytest.mark.parametrize("text", ["", "x", "-", "1e999", "9" * 40, "\x1b[31m"])
def test_facts_that_make_no_sense_raise_nothing_and_reach_no_terminal(
    tmp_path: Path, text: str
) -> None:
    names = (*QUIET, "host.governor", "timing.stray", "host.after.load")
    found = warnings(made(tmp_path / "run", dict.fromkeys(names, text), {"host.governor": "other"}))
    assert all(line.isprintable() for line in found)


def test_runs_of_machines_that_differ_are_not_compared(tmp_path: Path) -> None:
    one = made(tmp_path / "one", {"host.governor": "performance"})
    two = made(tmp_path / "two", {"host.governor": "performance"})
    assert differences(one, two) == ()
    compare_runs(one, two)
    other = {"host.cpu": "B CPU", "host.governor": "powersave"}
    three = made(tmp_path / "three", other)
    assert differences(one, three) == (
        "cpu: A CPU, B CPU",
        "governor: performance, powersave",
    )
    with pytest.raises(UsageError, match=r"machines that differ \(cpu: A CPU, B CPU"):
        compare_runs(one, three)


def test_what_one_of_two_runs_does_not_say_differs_in_nothing(tmp_path: Path) -> None:
    one = made(tmp_path / "one", {"host.microcode": "0x1"})
    two = made(tmp_path / "two", {"host.microcode": ""})
    assert differences(one, two) == ()
