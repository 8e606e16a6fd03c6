# SPDX-License-Identifier: GPL-2.0-or-later
"""Directories for the length of a block: what a killed process left goes when one is made next.

Each is held by a lock and names its process. It is taken away by another only if the lock is free,
the process is dead, and it belongs to who takes it away.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lsmeter.core.storage import writing

_NAME = re.compile(r"lsmeter-[a-z0-9]+-([1-9]\d{0,9})-\w+")


@contextmanager
def scratch(kind: str, base: Path | None = None) -> Iterator[Path]:
    """Give an empty directory in `base`, by default that of temporary files."""
    home = base or Path(tempfile.gettempdir())
    sweep(home)
    with writing(home):
        top = Path(tempfile.mkdtemp(prefix=f"lsmeter-{kind}-{os.getpid()}-", dir=home.absolute()))
    held = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_SH)
        yield top
    finally:
        shutil.rmtree(top, ignore_errors=True)
        os.close(held)


def sweep(base: Path) -> None:
    """Remove what killed processes of the caller left, and end what still works there."""
    for path in base.glob("lsmeter-*"):
        name = _NAME.fullmatch(path.name)
        if name is None or Path(f"/proc/{name[1]}").exists():
            continue
        with suppress(OSError):
            number = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(number).st_uid != os.geteuid():
                    continue
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _end_those_in(path)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(number)


def _end_those_in(top: Path) -> None:
    """Kill the processes whose working directory is beneath `top`.

    The kernel ends the probe and its workers with lsmeter, but not what a worker has started.
    """
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            handle = os.pidfd_open(int(process.name))
            try:
                if (process / "cwd").readlink().is_relative_to(top):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)
