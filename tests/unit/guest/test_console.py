# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.guest.capture import Capture, Ending
from lsmeter.guest.conclude import LINE_CHARS, TAIL_LINES, clean_lines, diagnose
from lsmeter.guest.session import Session, parse_session
from lsmeter.model import BootStatus
from tests.unit.guest.lines import lines, ran

CONSOLES = Path(__file__).parents[2] / "data" / "console"
NOTHING = parse_session(b"", ("a",))
WHOLE = parse_session(lines(*ran(0, "a", 1), "bye 1"), ("a",))


def ended(console: bytes, ending: Ending = Ending.EXITED, code: int | None = 0) -> Capture:
    return Capture(b"", console, ending, code, 1.0, "warning\nno such machine\n")


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
    found = diagnose(ended(console), NOTHING)
    assert (found.status.value, found.detail) == (status, detail)
    assert detail in found.tail[0]
    assert len(found.tail) <= TAIL_LINES


def test_a_real_clean_end() -> None:
    found = diagnose(ended((CONSOLES / "clean.txt").read_bytes()), WHOLE)
    assert (found.status, found.detail, found.tail) == (BootStatus.OK, "", ())


@pytest.mark.parametrize("ending", [Ending.DEADLINE, Ending.SILENT])
def test_a_real_hang(ending: Ending) -> None:
    found = diagnose(ended((CONSOLES / "hang.txt").read_bytes(), ending, None), NOTHING)
    assert found.status is BootStatus.HANG
    assert found.detail.endswith("the probe never started")
    assert found.tail == ("[    1.213555] PCI: Fatal: No config space access function found",)


CLEAN = (CONSOLES / "clean.txt").read_bytes()
HELLO_ONLY = parse_session(lines(), ("a",))
AT_WORK = parse_session(lines("begin 0 a"), ("a",))
HALF = parse_session(lines(*ran(0, "a", 1), "begin 1 b"), ("a", "b"))
GAVE_UP = parse_session(lines("error mounting%20tmpfs:%20EPERM"), ("a",))
GARBAGE = parse_session(b"junk\nmore\n", ())


@pytest.mark.parametrize(
    ("console", "session", "ending", "code", "status", "detail"),
    [
        (CLEAN, AT_WORK, Ending.DEADLINE, None, "hang", "deadline exceeded in 'a'"),
        (
            CLEAN,
            HALF,
            Ending.SILENT,
            None,
            "partial",
            "hang: no output for too long in 'b'",
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
            "no kernel output: is the image a Linux kernel?",
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
            "its output exceeds the limit",
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
    found = diagnose(ended(console, ending, code), session)
    assert (found.status.value, found.detail) == (status, detail)


def test_an_oops_after_some_results_is_partial() -> None:
    console = (CONSOLES / "oops-null-pointer.txt").read_bytes()
    found = diagnose(ended(console), HALF)
    assert found.status is BootStatus.PARTIAL
    assert found.detail.startswith("oops: BUG: kernel NULL pointer dereference")


@given(st.binary(max_size=2000))
def test_nothing_that_controls_a_terminal_comes_through(data: bytes) -> None:
    for line in clean_lines(data):
        assert line.isprintable()
        assert len(line) <= LINE_CHARS


def test_colours_are_taken_out() -> None:
    assert clean_lines(b"\x1b[31mred\x1b[0m\r\n\r\n\x07ring\n") == ("red", "?ring")
