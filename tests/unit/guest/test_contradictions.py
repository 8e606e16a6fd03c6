# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest says is held against what it was asked: what contradicts is a failed boot."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.model import Boot, BootId, BootStatus, Cell, Task
from lsmeter.core.model.setup import StateFile
from lsmeter.guest.boot_image import make_request
from lsmeter.guest.capture import Capture, Ending
from lsmeter.guest.conclude import conclude
from lsmeter.machines.description import kernel_cmdline
from tests.unit.guest.lines import bodies, lines, restated
from tests.unit.model_builders import cell

SETUP = replace(parse_setup("capability"), states=(StateFile("avc", "/avc"),))
CMDLINE = kernel_cmdline(SETUP, cell(SETUP).conditions)
COMMAND = ("qemu", "-m", "256", "-append", CMDLINE, "-initrd", "INITRD")
SEED = 5
FACTS = (
    "fact lsm capability",
    "fact filesystem tmpfs",
    "fact worker.uid 0",
    "fact kernel.release 6.1.0-56-cloud-amd64",
    f"fact kernel.cmdline {CMDLINE.replace(' ', '%20')}",
)
SAID = lines(
    *FACTS,
    "begin 0 a",
    "state 0 avc before n:%201",
    "state 0 avc after n:%202",
    "samples 0 10x3,12",
    "ticked 0 1,3",
    "window 0 24 816 94072 0 0,2900x4",
    "window 0 12 408 47040 0 0,2900x4",
    "window 0 24 816 94072 0 0,2901x4",
    "window 0 12 408 47040 0 0,2901x4",
    "window 0 128 4352 500900 1",
    "window 0 128 4352 500904 1",
    "whole 0 status=ok errno=0 detail=",
    "end 0 status=ok n=4 failures=0 errno=0 detail=",
    "begin 1 b",
    "samples 1 20x4",
    "state 1 avc before n:%202",
    "state 1 avc after n:%202",
    "window 1 24 816 94072 0 0,2900x4",
    "whole 1 status=failed errno=28 detail=",
    "end 1 status=ok n=4 failures=0 errno=0 detail=",
    "bye 2",
)
BETWEEN = "window 0 11 374 43065 0\n"
UNSEEN = """
window 0 12 408 47040 0 0,2901x4
window 0 128 4352 500900 1
window 0 128 4352 500904 1"""
END = "end 0 status=ok n=4 failures=0 errno=0 detail="


def of(task: str = "readings") -> Cell:
    return replace(cell(SETUP, samples=4), benchmarks=("a", "b"), task=Task(task))


def concluded(said: bytes, asked: Cell | None = None) -> Boot:
    return conclude(
        BootId("", 0, SEED), asked or of(), COMMAND, Capture(said, b"", Ending.EXITED, 0, 1.0)
    )


def test_what_was_asked_for_is_believed() -> None:
    assert make_request(of(), SEED).benchmarks == ("a", "b")
    found = concluded(SAID)
    assert (found.status, found.detail) == (BootStatus.OK, "")
    assert len(found.samples) == 2
    assert found.states[0].before == (("n", 1),)


def test_a_window_between_two_pairs_is_of_any_length_and_alone() -> None:
    pair, short = "window 0 24 816 94072 0 0,2901x4", "window 0 12 408 47040 0 0,2900x4"
    found = concluded(restated(SAID, (pair, BETWEEN + pair)))
    assert (found.status, found.detail) == (BootStatus.OK, "")
    whole = found.samples[0].whole
    assert whole is not None
    assert [item.operations for item in whole.rounds] == [24, 12, 11, 24, 12, 128, 128]
    for before, said, place in ((pair, 2 * BETWEEN, 3), (short, BETWEEN, 1)):
        found = concluded(restated(SAID, (before, said + before)))
        assert found.detail == f"a: window {place} with another number of cycles"


@pytest.mark.parametrize(
    ("old", "new", "detail"),
    [
        ("begin 0 a", "begin 0 b", "0: 'b'; asked for: 0: 'a'"),
        ("begin 1 b", "begin 1 a", "1: 'a'; asked for: 1: 'b'"),
        ("begin 1 b", "begin 1 c", "1: 'c'; asked for: 1: 'b'"),
        ("begin 1 b", "begin 2 b", "2: 'b'; asked for: 1: 'b'"),
        ("begin 0 a", "begin 0 a sweep=0", "0: 'a' at a delay of 0 ns; asked for: 0: 'a'"),
        ("bye 2", "begin 2 a\nbye 3", "2: 'a'; asked for: 2: nothing more"),
        ("samples 0 10x3,12", "samples 0 10x1000000", "a: more readings than the 4 that were"),
        ("samples 1 20x4", "samples 1 20x4\nsamples 1 20", "b: more readings than the 4 that"),
        (END, END.replace("failures=0", "failures=2"), "a is ok, with 2 failures, 0"),
        (END, END.replace("errno=0", "errno=13"), "a is ok, with 0 failures, EACCES"),
        ("bye 2", "bye 3", "3 benchmarks were announced, 2 began, 2 ended"),
        ("bye 2", "bye 0", "0 benchmarks were announced, 2 began, 2 ended"),
        (
            "samples 0 10x3,12",
            "samples 0 10x3,12\ncounts 0 hook 1x4",
            "a: counts of hook that",
        ),
        *(
            (old, new, f"a: window {place} with {wrong}")
            for old, new, place, wrong in (
                ("94072 0 0,2901x4", "94072 0 0,9", 2, "other numbers of ticks"),
                ("0 12 408 47040 0 0,2900x4", "0 24 408 47040 0 0,2900x4", 1, "another number"),
                ("0 24 816 94072 0 0,2901x4", "0 12 816 94072 0 0,2901x4", 2, "another number"),
                ("0 24 816 94072 0 0,2901x4", "0 72 816 94072 0 0,2901x4", 2, "another number"),
                ("0 128 4352 500904 1", "0 64 4352 500904 1", 5, "another number of cycles"),
                ("0 128 4352 500900 1", "0 12 4352 500900 1", 5, "another number of cycles"),
                ("500904 1", "500904 1 0,2900x4", 5, "another number of cycles"),
                (
                    "0 12 408 47040 0 0,2900x4",
                    "0 12 408 47040 0 0,2900x4\nwindow 0 12 408 47040 0 0,2900x4",
                    2,
                    "another number of cycles",
                ),
            )
        ),
        ("ticked 0 1,3", "ticked 0 1,1", "a: two ticks in one reading"),
        (
            "whole 0 status=ok errno=0",
            "whole 0 status=ok errno=5",
            "whole cost is ok, with EIO",
        ),
        (
            UNSEEN,
            "",
            "the whole cost is ok, with 3 windows that were seen through",
        ),
        ("\nwhole 0 status=ok errno=0 detail=", "", "a is ok, and its whole cost is missing"),
        (
            "\nwindow 1 24 816 94072 0 0,2900x4\nwhole 1 status=failed errno=28 detail=",
            "",
            "b is ok, and its whole cost is missing",
        ),
        ("\nstate 0 avc after n:%202", "", "a is ok, and what avc said before it or after it is"),
        ("\nstate 0 avc before n:%201", "", "a is ok, and what avc said before it or after it is"),
        (END, f"whole 0 status=ok errno=0 detail=\n{END}", "a: a whole cost that nobody asked for"),
        (END, f"window 0 24 1 2 0\n{END}", "a: a window of whole cycles that"),
        (
            "state 0 avc before",
            "state 0 other before",
            "a: the state 'other' before it",
        ),
        (END, f"state 0 avc after n:%203\n{END}", "a: the state 'avc' after it that nobody asked"),
        (
            "lsm capability",
            "lsm capability\nfact lsm selinux",
            "the fact lsm twice: ",
        ),
        (
            "filesystem tmpfs",
            "filesystem ext4",
            "filesystem: asked for 'tmpfs', the",
        ),
        ("uid 0", "uid 1000", "worker.uid: asked for '0', the guest reported '1000'"),
        ("fact worker.uid 0\n", "", "worker.uid: asked for '0', the guest reported ''"),
        ("release 6.1.0", "release 6.2.0", "kernel.release: asked for '6.1.0-56-cloud-amd64', the"),
        ("%20quiet", "%20verbose", "kernel.cmdline: asked for 'console="),
    ],
)
def test_a_contradiction_is_a_failed_boot_with_its_name(old: str, new: str, detail: str) -> None:
    found = concluded(restated(SAID, (old, new)))
    assert found.status is BootStatus.CONTRADICTION
    assert detail in found.detail
    assert found.samples == ()


def test_what_is_done_too_early_is_one_unless_it_says_why() -> None:
    half = bodies(SAID)[: bodies(SAID).index("begin 1 b")]
    assert concluded(lines(*half, "bye 1")).detail == "1 benchmarks, and 2 were asked for"
    told = concluded(lines(*half, "error no%20memory", "bye 1"))
    assert told.detail == "early-exit: probe error: no memory"


@pytest.mark.parametrize("count", [0, 1, 3])
def test_fewer_readings_than_were_asked_for_are_no_result(count: int) -> None:
    samples = f"samples 1 20x{count}" if count else "begin 1 b"
    old = ("begin 1 b\nsamples 1 20x4", f"begin 1 b\n{samples}".replace("b\nbegin 1 b", "b"))
    found = concluded(restated(SAID, old, ("end 1 status=ok n=4", f"end 1 status=ok n={count}")))
    assert found.detail == f"b is ok, with {count} readings; asked for: 4"


def test_a_benchmark_reported_twice_is_one() -> None:
    twice = restated(SAID, ("begin 1 b\nsamples 1 20x4", "begin 1 a\nsamples 1 20x4"))
    assert concluded(twice).detail == "1: 'a'; asked for: 1: 'b'"


@pytest.mark.parametrize("task", ["sweep", "count"])
def test_neither_sweeps_nor_counts_ask_for_whole_costs(task: str) -> None:
    asked = of(task)
    asked = replace(asked, task=replace(asked.task, delays_ns=(0,) if task == "sweep" else ()))
    said = restated(SAID, ("begin 0 a", "begin 0 a sweep=0")) if task == "sweep" else SAID
    assert concluded(said, asked).detail == "a: a window of whole cycles that nobody asked for"


def test_counters_are_those_that_the_guest_named() -> None:
    setup = replace(SETUP, counters=(StateFile("avc", "/avc"),), states=())
    asked = of("lookups")
    asked = replace(asked, setup=setup, benchmarks=("a",))
    block = ("begin 0 a", "samples 0 5x4", "counts 0 avc.hits 1x4", END, "bye 1")
    said = lines(*FACTS, "fact counter.1 avc.hits", *block)
    assert concluded(said, asked).status is BootStatus.OK
    other = restated(said, ("counts 0 avc.hits", "counts 0 avc.misses"))
    assert "a: counts of avc.misses that nobody asked for" in concluded(other, asked).detail


def test_a_lost_line_is_garbage_and_no_contradiction() -> None:
    kept = SAID.splitlines(keepends=True)
    lost = b"".join(line for line in kept if b" begin 1 " not in line)
    assert concluded(lost).status is BootStatus.GARBAGE


def test_a_command_line_of_the_kernels_own_stands_before_ours() -> None:
    own = of()
    own = replace(own, kernel=replace(own.kernel, config={"CMDLINE_BOOL": "y"}))
    said = restated(SAID, ("fact kernel.cmdline ", "fact kernel.cmdline debug%20"))
    assert concluded(said, own).status is BootStatus.OK
    assert concluded(said).status is BootStatus.CONTRADICTION


def test_what_a_guest_says_is_printable() -> None:
    found = concluded(restated(SAID, ("begin 0 a", "begin 0 %1b%5b2J%e2%80%ae")))
    assert found.detail.isprintable()
    assert r"\x1b[2J\u202e" in found.detail
