# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.backend import Ending
from lsmeter.guest.console import LINE_CHARS, TAIL_LINES, clean_lines, diagnose
from lsmeter.guest.events import Begin, Bye, End, ErrorLine, Event, Hello, Values
from lsmeter.guest.session import Session, fold, parse_session
from lsmeter.model import BenchmarkStatus, BootStatus

CONSOLES = Path(__file__).parents[2] / "data" / "console"
NOTHING = parse_session(b"", ("a",))
DONE: list[Event] = [
    Hello(1, "p"),
    Begin(0, "a"),
    Values(0, (1,)),
    End(0, BenchmarkStatus.OK, 1, 0, 0, ""),
]
WHOLE = fold([*DONE, Bye(1)], ("a",))


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
    found = diagnose(console, NOTHING, Ending.EXITED, 0)
    assert (found.status.value, found.detail) == (status, detail)
    assert detail in found.tail[0]
    assert len(found.tail) <= TAIL_LINES


def test_a_real_clean_end() -> None:
    found = diagnose((CONSOLES / "clean.txt").read_bytes(), WHOLE, Ending.EXITED, 0)
    assert (found.status, found.detail, found.tail) == (BootStatus.OK, "", ())


@pytest.mark.parametrize("ending", [Ending.DEADLINE, Ending.SILENT])
def test_a_real_hang(ending: Ending) -> None:
    found = diagnose((CONSOLES / "hang.txt").read_bytes(), NOTHING, ending, None)
    assert found.status is BootStatus.HANG
    assert found.detail.endswith("the probe never started")
    assert found.tail == ("[    1.213555] PCI: Fatal: No config space access function found",)


CLEAN = (CONSOLES / "clean.txt").read_bytes()
HELLO_ONLY = fold(DONE[:1], ("a",))
AT_WORK = fold(DONE[:2], ("a",))
HALF = fold([*DONE, Begin(1, "b")], ("a", "b"))
GAVE_UP = fold([*DONE[:1], ErrorLine("mounting tmpfs: EPERM")], ("a",))
GARBAGE = parse_session(b"junk\nmore\n", ())


@pytest.mark.parametrize(
    ("console", "session", "ending", "code", "status", "detail"),
    [
        (CLEAN, AT_WORK, Ending.DEADLINE, None, "hang", "it took too long; it was at 'a'"),
        (
            CLEAN,
            HALF,
            Ending.SILENT,
            None,
            "partial",
            "hang: nothing was heard for too long; it was at 'b'",
        ),
        (
            CLEAN,
            HELLO_ONLY,
            Ending.EXITED,
            0,
            "early-exit",
            "the machine ended before 'a' was done",
        ),
        (
            CLEAN,
            GAVE_UP,
            Ending.EXITED,
            0,
            "early-exit",
            "the probe gave up: mounting tmpfs: EPERM",
        ),
        (
            CLEAN,
            NOTHING,
            Ending.EXITED,
            0,
            "early-exit",
            (
                "the machine ended before the probe started; "
                "the kernel's last words: reboot: Restarting system"
            ),
        ),
        (
            b"",
            NOTHING,
            Ending.EXITED,
            0,
            "early-exit",
            "no kernel spoke: is the image a Linux kernel?",
        ),
        (
            b"",
            NOTHING,
            Ending.EXITED,
            1,
            "infrastructure",
            "QEMU ended with status 1: no such machine",
        ),
        (b"", NOTHING, Ending.STOPPED, None, "infrastructure", "stopped by the user"),
        (
            CLEAN,
            WHOLE,
            Ending.FLOODED,
            None,
            "garbage",
            "it printed more than any honest guest does",
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
    console: bytes, session: Session, ending: Ending, code: int | None, status: str, detail: str
) -> None:
    found = diagnose(console, session, ending, code, "warning\nno such machine\n")
    assert (found.status.value, found.detail) == (status, detail)


def test_an_oops_after_some_results_is_partial() -> None:
    console = (CONSOLES / "oops-null-pointer.txt").read_bytes()
    found = diagnose(console, HALF, Ending.EXITED, 0)
    assert found.status is BootStatus.PARTIAL
    assert found.detail.startswith("oops: BUG: kernel NULL pointer dereference")


@given(st.binary(max_size=2000))
def test_nothing_that_controls_a_terminal_comes_through(data: bytes) -> None:
    for line in clean_lines(data):
        assert line.isprintable()
        assert len(line) <= LINE_CHARS


def test_colours_are_taken_out() -> None:
    assert clean_lines(b"\x1b[31mred\x1b[0m\r\n\r\n\x07ring\n") == ("red", "?ring")
