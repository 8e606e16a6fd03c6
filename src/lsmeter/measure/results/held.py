# SPDX-License-Identifier: GPL-2.0-or-later
"""Where runs are made: a new name for each, one command at a time in each, and the latest one.

Nothing here reads or writes what was measured.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from lsmeter import __version__
from lsmeter.core.errors import UsageError
from lsmeter.core.model import BootId
from lsmeter.core.storage import HeldError, hold, make_dir, writing
from lsmeter.measure.results.boots import BOOT_FILE, LOCK_FILE
from lsmeter.measure.results.directory import MANIFEST_FILE, boot_folder, check_directory
from lsmeter.measure.results.manifest import Circumstances

HOME = Path("runs")  # where runs are made that no --run-dir names


def new_directory(stem: str) -> Path:
    """Make a directory for a new run, named by the time; a second one has a number after that."""
    make_dir(HOME)
    name = f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S}-{stem}"
    for number in count(1):
        path = HOME / (name if number == 1 else f"{name}~{number}")
        with writing(path), suppress(FileExistsError):
            path.mkdir()
            break
    return path


def describe_making(
    machine: str,
    host: tuple[tuple[str, str], ...] = (),
    tools: tuple[tuple[str, str], ...] = (),
) -> Circumstances:
    """Say where and how a run is made: by this version and command, now."""
    created = datetime.now(UTC).isoformat(timespec="seconds")
    command = shlex.join(["lsmeter", *sys.argv[1:]])
    return Circumstances(__version__, created, command, machine, host, tools)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a run directory, made where it is missing; UsageError while another command does.

    A directory into which nothing came in the end is taken away.
    """
    check_directory(path)
    make_dir(path)
    with ExitStack() as stack:
        try:
            stack.enter_context(hold(path / LOCK_FILE, str(path), 0))
        except HeldError as error:
            raise UsageError(
                f"--run-dir: another lsmeter is measuring into {path}: {error.who}",
                hint="wait until it has ended, or name another directory",
            ) from error
        try:
            yield
        finally:
            if not (path / MANIFEST_FILE).exists():
                with suppress(OSError):
                    (path / LOCK_FILE).unlink()
                    path.rmdir()


def is_torn(path: Path, boots: Iterable[BootId]) -> bool:
    """Say whether a run that was carried out lacks its manifest or a boot: somebody took it."""
    files = (boot_folder(path, boot) / BOOT_FILE for boot in boots)
    return not all(file.is_file() for file in (path / MANIFEST_FILE, *files))


def known_runs() -> tuple[Path, ...]:
    """Return the runs of this directory's `runs/`, the latest first."""
    found = (path for path in HOME.glob(f"*/{MANIFEST_FILE}") if path.is_file())
    return tuple(path.parent for path in sorted(found, key=lambda path: -path.stat().st_mtime_ns))


def latest_run() -> Path:
    """Return the latest run of this directory's `runs/`."""
    found = known_runs()
    if not found:
        raise UsageError(
            "there is no run in runs/ of this directory",
            hint="make one: lsmeter run; or name a run directory: lsmeter report RUN",
        )
    return found[0]
