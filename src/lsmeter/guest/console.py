# SPDX-License-Identifier: GPL-2.0-or-later
"""Decides from the console of a guest, and from how it ended, what went wrong; pure.

The console is untrusted: it is cut, cleaned of control characters, and only ever shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lsmeter.backend import Ending
from lsmeter.guest.session import Session
from lsmeter.model import BenchmarkStatus, BootStatus

TAIL_LINES = 20
LINE_CHARS = 200
_SEARCH_BYTES = 4 << 20

_PANIC = re.compile(r"Kernel panic - not syncing: ?(.*)")
_OOPS = re.compile(
    r"(?:\] |^)(BUG: .*|Oops: .*|general protection fault.*|invalid opcode: .*|"
    r"stack segment: .*|double fault: .*|divide error: .*|kernel BUG at .*)"
)
_STAMP = re.compile(r"^\[ *\d+\.\d+\](?:\[[^\]]{1,12}\])? ")
# How a boot can be lost after benchmarks whose numbers are good.
_LOST = frozenset(
    {
        *(BootStatus.PANIC, BootStatus.OOPS, BootStatus.HANG, BootStatus.EARLY_EXIT),
        BootStatus.INFRASTRUCTURE,
    }
)
_LOOKS_LIKE_LINUX = re.compile(r"^\[ *\d+\.\d+\]", re.MULTILINE)


@dataclass(frozen=True)
class Diagnosis:
    """How a boot ended: its status, one line that says why ("" when it is ok), the last lines."""

    status: BootStatus
    detail: str
    tail: tuple[str, ...]


def diagnose(
    console: bytes, session: Session, ending: Ending, exit_code: int | None, stderr: str = ""
) -> Diagnosis:
    """Tell the ways apart in which a boot can end.

    A damaged kernel counts before all else, then damaged results, then how QEMU ended. What
    ended badly, or was ended, after some benchmark had finished is PARTIAL, unless it is garbage:
    then nothing of the boot can be trusted.
    """
    lines = clean_lines(console)
    status, detail = _status(lines, session, ending, exit_code, stderr)
    kept = any(samples.status is BenchmarkStatus.OK for samples in session.samples)
    if kept and status in _LOST:
        status, detail = BootStatus.PARTIAL, f"{status.value}: {detail}"
    return Diagnosis(status, detail, tail(lines) if status is not BootStatus.OK else ())


def clean_lines(console: bytes) -> tuple[str, ...]:
    """Split a console into lines with neither control characters nor escape sequences."""
    text = console[-_SEARCH_BYTES:].decode("utf-8", "replace")
    text = re.sub(r"\x1b(?:\[[0-9;?]{0,20}[A-Za-z]|.)", "", text)
    lines = re.split(r"\r*\n", text)
    cleaned = (
        "".join(c if c.isprintable() else "?" for c in line.strip("\r")[:LINE_CHARS])
        for line in lines
    )
    return tuple(line for line in cleaned if line.strip())


def tail(lines: tuple[str, ...], count: int = TAIL_LINES) -> tuple[str, ...]:
    """Return the lines that say most: those from the first damage on, else the last ones."""
    for number, line in enumerate(lines):
        if _PANIC.search(line) or _OOPS.search(line):
            return lines[number : number + count]
    return lines[-count:]


def kernel_damage(lines: tuple[str, ...]) -> tuple[BootStatus, str] | None:
    """Return whether the kernel oopsed or panicked, with its own first words on it.

    An oops that ends in a panic is an oops: its first line names the cause.
    """
    panic: str | None = None
    for line in lines:
        oops = _OOPS.search(line)
        if oops is not None:
            return BootStatus.OOPS, oops[1].strip()
        found = _PANIC.search(line)
        if found is not None and panic is None:
            panic = found[1].strip() or "no reason was given"
    return None if panic is None else (BootStatus.PANIC, panic)


def _status(
    lines: tuple[str, ...], session: Session, ending: Ending, exit_code: int | None, stderr: str
) -> tuple[BootStatus, str]:
    return (
        kernel_damage(lines)
        or _untrusted(session, ending)
        or _killed(session, ending)
        or _ended(lines, session, exit_code, stderr)
    )


def _untrusted(session: Session, ending: Ending) -> tuple[BootStatus, str] | None:
    if ending is Ending.FLOODED:
        return BootStatus.GARBAGE, "it printed more than any honest guest does"
    if session.garbage:
        more = f" (and {len(session.garbage) - 1} more)" if len(session.garbage) > 1 else ""
        return BootStatus.GARBAGE, f"the result channel: {session.garbage[0]}{more}"
    return None


def _killed(session: Session, ending: Ending) -> tuple[BootStatus, str] | None:
    if ending in {Ending.DEADLINE, Ending.SILENT}:
        return BootStatus.HANG, _hang(session, ending)
    if ending is Ending.STOPPED:
        return BootStatus.INFRASTRUCTURE, "stopped by the user"
    return None


def _ended(
    lines: tuple[str, ...], session: Session, exit_code: int | None, stderr: str
) -> tuple[BootStatus, str]:
    if session.errors:
        return BootStatus.EARLY_EXIT, f"the probe gave up: {session.errors[0]}"
    if session.complete:
        return BootStatus.OK, ""
    if exit_code:
        said = clean_lines(stderr.encode())
        reason = f": {said[-1]}" if said else ""
        return BootStatus.INFRASTRUCTURE, f"QEMU ended with status {exit_code}{reason}"
    return BootStatus.EARLY_EXIT, _early(lines, session)


def _hang(session: Session, ending: Ending) -> str:
    how = "nothing was heard for too long" if ending is Ending.SILENT else "it took too long"
    if not session.greeted:
        return f"{how}; the probe never started"
    running = _unreported(session)
    return f"{how}; it was at {running}" if running else f"{how} after the last benchmark"


def _early(lines: tuple[str, ...], session: Session) -> str:
    if session.greeted:
        running = _unreported(session)
        where = f"before {running} was done" if running else "before it said goodbye"
        return f"the machine ended {where}"
    if not any(_LOOKS_LIKE_LINUX.match(line) for line in lines):
        return "no kernel spoke: is the image a Linux kernel?"
    last = _STAMP.sub("", lines[-1])
    return f"the machine ended before the probe started; the kernel's last words: {last}"


def _unreported(session: Session) -> str:
    if session.running:
        return f"'{session.running}'"
    for samples in session.samples:
        if samples.status is BenchmarkStatus.CRASHED and samples.detail.startswith("the guest"):
            return f"'{samples.benchmark}'"
    return ""
