# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.model import Boot, BootId, BootStatus
from lsmeter.guest.capture import Capture, Ending
from lsmeter.guest.conclude import LINE_CHARS, TAIL_LINES, clean_lines, conclude
from tests.unit.guest.lines import lines, ran, whole
from tests.unit.model_builders import cell

CONSOLES = Path(__file__).parents[2] / "data" / "console"
CLEAN = (CONSOLES / "clean.txt").read_bytes()
MEMORY = "(out of memory? see dmesg)"
LONGER = "; ended after 1 s; --boot-deadline SECONDS gives it longer"
FACTS = (
    "fact lsm capability",
    "fact filesystem tmpfs",
    "fact worker.uid 0",
    "fact kernel.release 6.1.0-56-cloud-amd64",
)
SEED = 5  # which leaves a before b
NOTHING = b""
WHOLE = lines(*FACTS, *ran(0, "a", 1, more=whole(0)), "bye 1")


def ended(
    console: bytes,
    results: bytes,
    ending: Ending = Ending.EXITED,
    code: int | None = 0,
    stderr: str = "warning\nno such machine\n",
) -> Boot:
    """Return a boot that was asked for the benchmarks a and b, the last if it is in the results."""
    capture = Capture(results, console, ending, code, 1.0, stderr)
    of = replace(cell(parse_setup("capability"), samples=1), benchmarks=("a", "b"))
    if b" b " not in results:
        of = replace(of, benchmarks=("a",))
    return conclude(BootId("", 0, SEED), of, (), capture)


@pytest.mark.parametrize(
    ("name", "status", "detail"),
    [
        ("panic-no-init", "panic", "VFS: Unable to mount root fs on unknown-block(0,0)"),
        ("panic-init-killed", "panic", "Attempted to kill init! exitcode=0x0000000b"),
        ("panic-sysrq", "panic", "sysrq triggered crash"),
        (
            "oops-null-pointer",
            "oops",
            "BUG: kernel NULL pointer dereference, address: 0000000000000000",
        ),
        ("oops-invalid-opcode", "oops", "invalid opcode: 0000 [#1] PREEMPT SMP NOPTI"),
        (
            "oops-then-init-killed",
            "oops",
            "BUG: kernel NULL pointer dereference, address: 0000000000000000",
        ),
    ],
)
def test_real_damage(name: str, status: str, detail: str) -> None:
    console = (CONSOLES / f"{name}.txt").read_bytes()
    found = ended(console, NOTHING)
    assert (found.status.value, found.detail) == (status, detail)
    assert detail in found.console_tail[0]
    assert len(found.console_tail) <= TAIL_LINES


def test_a_real_clean_end() -> None:
    found = ended(CLEAN, WHOLE)
    assert (found.status, found.detail, found.console_tail) == (BootStatus.OK, "", ())


@pytest.mark.parametrize("ending", [Ending.DEADLINE, Ending.SILENT])
def test_a_real_hang(ending: Ending) -> None:
    found = ended((CONSOLES / "hang.txt").read_bytes(), NOTHING, ending, None)
    assert found.status is BootStatus.HANG
    assert "the probe never started; ended after 1 s; --boot-deadline" in found.detail
    assert found.console_tail == (
        "[    1.213555] PCI: Fatal: No config space access function found",
    )


HELLO_ONLY = lines()
AT_WORK = lines("begin 0 a")
HALF = lines(*FACTS, *ran(0, "a", 1, more=whole(0)), "begin 1 b")
GAVE_UP = lines("error mounting%20tmpfs:%20EPERM")
GARBAGE = b"junk\nmore\n"


@pytest.mark.parametrize(
    ("console", "results", "ending", "code", "status", "detail"),
    [
        (CLEAN, AT_WORK, Ending.DEADLINE, None, "hang", f"deadline exceeded in 'a'{LONGER}"),
        (
            CLEAN,
            HALF,
            Ending.SILENT,
            None,
            "partial",
            f"hang: no output for too long in 'b'{LONGER}",
        ),
        (
            CLEAN,
            HELLO_ONLY,
            Ending.EXITED,
            0,
            "early-exit",
            "the guest ended before the end of 'a'",
        ),
        (
            CLEAN,
            GAVE_UP,
            Ending.EXITED,
            0,
            "early-exit",
            "probe error: mounting tmpfs: EPERM",
        ),
        (
            CLEAN,
            NOTHING,
            Ending.EXITED,
            0,
            "early-exit",
            (
                "the guest ended before the probe started; "
                "last kernel message: reboot: Restarting system"
            ),
        ),
        (
            b"",
            NOTHING,
            Ending.EXITED,
            0,
            "early-exit",
            ("no kernel output: is the image a Linux kernel? QEMU's last words: no such machine"),
        ),
        (
            b"",
            NOTHING,
            Ending.EXITED,
            1,
            "infrastructure",
            "QEMU ended with status 1: no such machine",
        ),
        (
            *(b"", NOTHING, Ending.EXITED, -9, "infrastructure"),
            f"QEMU was killed by SIGKILL, not by lsmeter {MEMORY}: no such machine",
        ),
        (
            *(b"", NOTHING, Ending.EXITED, -63, "infrastructure"),
            "QEMU was killed by signal 63, not by lsmeter: no such machine",
        ),
        (
            CLEAN,
            WHOLE,
            Ending.FLOODED,
            None,
            "garbage",
            (
                f"its output exceeds the limit: {len(WHOLE)} bytes of results, {len(CLEAN)} of "
                "console, 24 of errors"
            ),
        ),
        (
            CLEAN,
            GARBAGE,
            Ending.EXITED,
            0,
            "garbage",
            "the result channel: byte 0: no checksum at the end of the line: junk (and 1 more)",
        ),
    ],
)
def test_other_ends(
    console: bytes, results: bytes, ending: Ending, code: int | None, status: str, detail: str
) -> None:
    found = ended(console, results, ending, code)
    assert (found.status.value, found.detail) == (status, detail)


@pytest.mark.parametrize(
    ("stderr", "said"),
    [
        ("", "no kernel output: is the image a Linux kernel?"),
        (
            "qemu-system-x86_64: unsupported machine type: 'x'\nUse -machine help to list them\n",
            (
                "no kernel output: is the image a Linux kernel? "
                "QEMU's last words: qemu-system-x86_64: unsupported machine type: 'x'"
            ),
        ),
    ],
)
def test_the_complaint_of_qemu_is_named_where_there_was_one(stderr: str, said: str) -> None:
    assert ended(b"", NOTHING, stderr=stderr).detail == said


def test_an_oops_after_some_results_is_partial() -> None:
    console = (CONSOLES / "oops-null-pointer.txt").read_bytes()
    found = ended(console, HALF)
    assert found.status is BootStatus.PARTIAL
    assert found.detail.startswith("oops: BUG: kernel NULL pointer dereference")


@given(st.binary(max_size=2000))
def test_nothing_that_controls_a_terminal_comes_through(data: bytes) -> None:
    for line in clean_lines(data):
        assert line.isprintable()
        assert len(line) <= LINE_CHARS


def test_colours_are_taken_out() -> None:
    assert clean_lines(b"\x1b[31mred\x1b[0m\r\n\r\n\x07ring\n") == ("red", "?ring")
