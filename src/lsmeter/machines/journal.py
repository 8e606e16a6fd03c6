# SPDX-License-Identifier: GPL-2.0-or-later
"""What lsmeter changed on this machine, written down before it was, so that it is put back.

A journal is one file for one process, which holds a lock on it for as long as it lives. One that
nobody holds was left by a process that was killed: the next command puts back what it names. After
a reboot there is nothing to put back.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from lsmeter.base.errors import InfrastructureError
from lsmeter.base.printable import printable
from lsmeter.base.storage import data_dir, make_dir, writing

ROOT = "LSMETER_ROOT"  # for tests: what stands in for the root of this machine's /sys and /proc
_FOLDER, _SUFFIX = "changed", ".json"
_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Change:
    """One setting: its file, what it was, and what it is made.

    A directory is made where `after` is "", and removed again; `before` is "" then. Where `profile`
    names one, `path` is AppArmor's directory of controls, and `after` the file of the profile,
    compiled: it is loaded, and removed again.
    """

    path: str
    before: str
    after: str
    title: str  # for people: the frequency governor of cpu0
    profile: str = ""

    @property
    def directory(self) -> bool:
        """Whether it is a directory that is made."""
        return not self.after


@contextmanager
def changed(changes: Sequence[Change], *, needed: bool = True) -> Iterator[list[str]]:
    """Make these changes, and put them back at the end of the block, the last one first.

    One that cannot be made is an InfrastructureError if it is needed, and else among the texts that
    are given.
    """
    if not changes:
        yield []
        return
    name = f"{os.getpid()}-{time.monotonic_ns()}{_SUFFIX}"
    journal = make_dir(data_dir() / _FOLDER) / name
    with writing(journal):
        held = journal.open("xb", buffering=0)
    with held as file:
        with writing(journal):
            # Held before anything stands in it, and written before anything is changed.
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(_written(changes))
            os.fsync(file)
        left: list[str] = []
        try:
            refused = [text for change in changes if (text := _make(change))]
            if refused and needed:
                raise InfrastructureError(f"cannot change {refused[0]}")
            yield refused
        finally:
            left = _put_back(changes)
            if not left:
                journal.unlink(missing_ok=True)
        if left:
            raise InfrastructureError(
                f"could not be put back: {'; '.join(left)}",
                hint="lsmeter here restore tries it again",
            )


def restore() -> tuple[list[str], list[str]]:
    """Put back what killed processes left: what was, and what could not be, in words."""
    done, failed = [], []
    folder = data_dir() / _FOLDER
    for journal in sorted(folder.glob(f"*{_SUFFIX}")) if folder.is_dir() else ():
        with suppress(OSError):
            number = os.open(journal, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                changes = _read(os.read(number, _MOST_BYTES))
                left = _put_back(changes)
                failed += left
                done += [change.title for change in changes] if not left else []
                if not left:
                    journal.unlink(missing_ok=True)
            finally:
                os.close(number)
    return done, failed


def is_left() -> bool:
    """Say whether there is any journal: of a killed process, or of one that lives."""
    folder = data_dir() / _FOLDER
    return folder.is_dir() and any(folder.glob(f"*{_SUFFIX}"))


def root() -> Path:
    """Return what stands for the root of this machine's settings."""
    return Path(os.environ.get(ROOT) or "/")


def value_of(path: Path) -> str:
    """Return a setting's value, "" where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _profiles(control: Path) -> list[str]:
    """Return the names of the profiles that are loaded."""
    return [line.rpartition(" (")[0] for line in value_of(control / "profiles").splitlines()]


def _boot() -> str:
    return value_of(root() / "proc/sys/kernel/random/boot_id")


def _written(changes: Sequence[Change]) -> bytes:
    said = {"boot": _boot(), "changes": [asdict(change) for change in changes]}
    return json.dumps(said, indent=1).encode()


def _read(data: bytes) -> list[Change]:
    """Read a journal; nothing where it is of another boot, or was not yet written."""
    try:
        said = json.loads(data)
        changes = [Change(**item) for item in said["changes"]]
        boot = said["boot"]
    except (ValueError, KeyError, TypeError):
        return []
    return changes if boot == _boot() else []


def _make(change: Change) -> str:
    """Make a change; say why it could not be made."""
    path = Path(change.path)
    try:
        if change.directory:
            path.mkdir()
        elif change.profile:
            # Not in place of one that is there: that would be another lsmeter's.
            (path / ".load").write_bytes(Path(change.after).read_bytes())
        else:
            path.write_text(change.after)
    except OSError as error:
        return f"{change.title} ({path}): {error.strerror}"
    return ""


def _put_back(changes: Sequence[Change]) -> list[str]:
    """Put back what is as we made it, the last change first; say what could not be."""
    failed = []
    for change in reversed(changes):
        path = Path(change.path)
        try:
            if not path.exists():
                continue
            if change.directory:
                path.rmdir()
            elif change.profile:
                if change.profile in _profiles(path):
                    (path / ".remove").write_text(change.profile)
            elif change.before and value_of(path) != change.before:
                path.write_text(change.before)
        except OSError as error:
            failed.append(printable(f"{change.title} ({path}): {error.strerror}"))
    return failed
