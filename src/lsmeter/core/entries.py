# SPDX-License-Identifier: GPL-2.0-or-later
"""Entries of the cache: directories that are whole or absent, each with a file of facts."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from lsmeter.core.errors import LsmeterError
from lsmeter.core.storage import PARTIAL, cache_dir, make_dir, write_atomic, writing

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")

_ADAPTERS: dict[type, TypeAdapter[Any]] = {}


@contextmanager
def new_entry(final: Path) -> Iterator[Path]:
    """Give an empty directory that becomes `final` when the block ends without an error.

    A kill in the middle leaves only a hidden directory beside `final`, which the next call for
    any entry there removes; `final` itself is always whole. Hold `locked` around it.
    """
    make_dir(final.parent)
    partial = final.parent / f".{final.name}{PARTIAL}"
    for path in final.parent.glob(f".*{PARTIAL}"):
        if path == partial or not _in_use(path):
            shutil.rmtree(path, ignore_errors=True)
    with writing(final):
        partial.mkdir()
        held = os.open(partial, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(held, fcntl.LOCK_SH)
    try:
        with writing(final):
            yield partial
            shutil.rmtree(final, ignore_errors=True)
            partial.replace(final)
    except LsmeterError as error:
        # A reader knows the entry by its name alone.
        error.title = error.title.replace(str(partial), str(final))
        error.hint = error.hint.replace(str(partial), str(final))
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        os.close(held)


def drop_entry(final: Path) -> None:
    """Remove an entry, which is whole until it is gone. Hold `locked` around it."""
    gone = final.parent / f".{final.name}{PARTIAL}"
    with suppress(OSError):
        final.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def _in_use(partial: Path) -> bool:
    """Say whether a process that lives is filling the directory."""
    try:
        number = os.open(partial, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(number)
    return False


@dataclass(frozen=True)
class Entries(Generic[T]):
    """The entries of one kind; their facts are a dataclass, checked when they are read.

    folder: under the cache. file: the name of the JSON file. whole: says of an entry's facts, and
    the directory that they are in, whether all that belongs to them is there.
    """

    folder: str
    file: str
    kind: type[T]
    whole: Callable[[T, Path], bool] = lambda _facts, _home: True

    @property
    def home(self) -> Path:
        """Return the directory of all entries; it may not exist yet."""
        return cache_dir() / self.folder

    def read(self, entry: Path) -> T | None:
        """Return the facts of the entry in a directory; None when it is absent or damaged."""
        facts = read_facts(entry / self.file, self.kind)
        with suppress(OSError):
            return facts if facts is not None and self.whole(facts, entry) else None
        return None

    def all(self) -> tuple[T, ...]:
        """Return the facts of every entry, by name; damaged ones are left out."""
        homes = [path.parent for path in sorted(self.home.glob(f"[!.]*/{self.file}"))]
        return tuple(facts for facts in map(self.read, homes) if facts is not None)

    def write(self, entry: Path, facts: T) -> None:
        """Describe the entry in a directory."""
        write_facts(entry / self.file, facts)


def read_facts(path: Path, kind: type[T]) -> T | None:
    """Return what a JSON file of the cache says; None when it is absent or damaged."""
    from pydantic import ValidationError

    try:
        return adapter_of(kind).validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def write_facts(path: Path, facts: object) -> None:
    """Write a dataclass as read_facts reads it."""
    write_atomic(path, adapter_of(type(facts)).dump_json(facts, indent=1) + b"\n")


def adapter_of(kind: type[T]) -> TypeAdapter[T]:
    """Return what reads and writes a dataclass, made once: that can take a tenth of a second."""
    from pydantic import TypeAdapter

    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]
