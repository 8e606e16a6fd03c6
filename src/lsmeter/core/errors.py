# SPDX-License-Identifier: GPL-2.0-or-later
"""The one tree of errors that lsmeter raises for a user to read, and their exit codes.

Every error carries what is wrong (title), where and why (detail), what to do (hint) and, where
there is one, the end of a log and the path of the whole of it. Only the command line turns them
into text and an exit code; nothing else exits.
"""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import ClassVar

from lsmeter.core.printable import printable


class ExitCode(IntEnum):
    """Documented exit codes of the command line (`lsmeter help exit-codes`)."""

    OK = 0
    INCOMPLETE = 1  # some cells or benchmarks gave no number; of a gate: a rule is broken
    USAGE = 2
    BUILD = 3
    BOOT = 4
    GUEST = 5
    INFRASTRUCTURE = 7
    SELFTEST = 8  # what was said of a known cost is not true
    INTERNAL = 9  # a fault of lsmeter itself
    SKIPPED = 125  # a gate cannot judge: what `git bisect run` takes for "try another commit"
    INTERRUPTED = 130


class LsmeterError(Exception):
    """An error with all that a person needs to act on it.

    title: one line, what is wrong and where. hint: one line, what to do. log_tail: the last
    lines of the log that shows it. log_path: where the whole log is.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.INFRASTRUCTURE

    def __init__(
        self,
        title: str,
        *,
        hint: str = "",
        log_tail: tuple[str, ...] = (),
        log_path: Path | None = None,
    ) -> None:
        # Names from outside may hold anything; an error is one line all the same.
        self.title = printable(title)
        super().__init__(self.title)
        self.hint = printable(hint)
        self.log_tail = tuple(map(printable, log_tail))
        self.log_path = log_path


class UsageError(LsmeterError):
    """The command line is wrong: an unknown name, a bad option, a malformed experiment file."""

    exit_code = ExitCode.USAGE


class BuildError(LsmeterError):
    """Something that had to be compiled or assembled (probe, kernel, image) could not be."""

    exit_code = ExitCode.BUILD


class BootError(LsmeterError):
    """A guest did not get as far as the probe: no kernel image, a panic or hang while booting."""

    exit_code = ExitCode.BOOT


class GuestError(LsmeterError):
    """A guest booted but did not do what was asked: wrong setup, garbage, a hang, early exit."""

    exit_code = ExitCode.GUEST


class InfrastructureError(LsmeterError):
    """The host's fault: a missing program, no network, a full disk, a damaged cache or run."""
