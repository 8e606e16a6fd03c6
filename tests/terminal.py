# SPDX-License-Identifier: GPL-2.0-or-later
"""A terminal with an interactive bash in it, for tests that type."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import DEADLINE_S

# The terminal becomes the controlling one of the shell, which job control needs.
_LOGIN = "import os, sys; os.login_tty(0); os.execvp(sys.argv[1], sys.argv[1:])"
_PROMPT = "\N{WHITE RIGHT-POINTING POINTER} "  # nothing else says this


class Terminal:
    """What stands on the screen, and what is typed."""

    def __init__(self, master: int) -> None:
        self._master = master
        self.said = ""  # all so far
        self._seen = 0

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._master, text.encode())

    def until(self, pattern: str) -> str:
        """Wait for what matches, and return it; what stands before it is passed over."""
        end = time.monotonic() + DEADLINE_S
        while (found := re.compile(pattern).search(self.said, self._seen)) is None:
            assert time.monotonic() < end, f"no {pattern!r} in:\n{self.said[self._seen :]}"
            if select.select([self._master], [], [], 1.0)[0]:
                self.said += os.read(self._master, 1 << 16).decode(errors="replace")
        self._seen = found.end()
        return found[0]

    def command(self, line: str) -> None:
        """Type a line to the shell once it asks for one."""
        self.until(_PROMPT)
        self.type(f"{line}\n")


@contextmanager
def terminal(home: Path, environment: Mapping[str, str], programs: Path) -> Iterator[Terminal]:
    """Open a terminal whose shell finds `lsmeter` in the directory `programs`."""
    master, slave = pty.openpty()
    path = f"{programs}:{os.environ['PATH']}"
    shell = subprocess.Popen(
        [sys.executable, "-c", _LOGIN, "bash", "--norc", "--noprofile", "-i"],
        cwd=home,
        env={**environment, "PATH": path, "PS1": _PROMPT, "TERM": "dumb", "LC_ALL": "C.UTF-8"},
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    try:
        yield Terminal(master)
    finally:
        os.close(master)  # the shell hangs up what it runs
        shell.send_signal(signal.SIGKILL)
        shell.wait()


def install(programs: Path, before: str = "") -> None:
    """Put a `lsmeter` into a directory; `before` are lines of shell that it begins with."""
    programs.mkdir()
    run = f'exec {shlex.quote(sys.executable)} -m lsmeter "$@"'
    (programs / "lsmeter").write_text(f"#!/bin/sh\n{before}\n{run}\n")
    (programs / "lsmeter").chmod(0o755)
