# SPDX-License-Identifier: GPL-2.0-or-later
"""Where runs are made: a new name for each, one command at a time in each, and the latest one.

Nothing here reads or writes what was measured.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from lsmeter.base.errors import UsageError
from lsmeter.base.storage import HeldError, cannot_write, data_dir, hold, make_dir, write_atomic
from lsmeter.model import BootId
from lsmeter.results.boots import BOOT_FILE, LOCK_FILE
from lsmeter.results.directory import MANIFEST_FILE, boot_folder, check_directory

HOME = Path("runs")  # where runs are made that no --run-dir names
_LATEST = "latest-run"  # in the data directory
_MAX_PATH_BYTES = 4096


def new_directory(name: str, number: int = 1) -> Path:
    """Make a directory for a new run; a second one of that name has a number after it."""
    make_dir(HOME)
    path = HOME / (name if number == 1 else f"{name}~{number}")
    try:
        path.mkdir()
    except FileExistsError:
        return new_directory(name, number + 1)
    except OSError as error:
        raise cannot_write(path, error) from error
    return path


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


def remember(path: Path) -> None:
    """Keep in mind which run was made last."""
    write_atomic(data_dir() / _LATEST, os.fsencode(path.absolute()))


def known_runs() -> tuple[Path, ...]:
    """Return the runs here and the one that was remembered, the latest first."""
    found = list(HOME.glob(f"*/{MANIFEST_FILE}"))
    with suppress(OSError), (data_dir() / _LATEST).open("rb") as file:
        found.append(Path(os.fsdecode(file.read(_MAX_PATH_BYTES))) / MANIFEST_FILE)
    there = {path.resolve(): path.parent for path in found if path.is_file()}
    here = Path.cwd()
    latest = sorted(there, key=lambda path: -path.stat().st_mtime_ns)
    paths = (there[path] for path in latest)
    return tuple(p.relative_to(here) if p.is_relative_to(here) else p for p in paths)


def latest_run() -> Path:
    """Return the run that was made last, of those here and the one that was remembered."""
    found = known_runs()
    if not found:
        raise UsageError(
            "no run was found, neither in runs/ nor by its last directory",
            hint="make one: lsmeter run; or name a run directory: lsmeter report RUN",
        )
    return found[0]
