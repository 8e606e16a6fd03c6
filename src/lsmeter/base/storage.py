# SPDX-License-Identifier: GPL-2.0-or-later
"""Where files live, and how they are written so that a kill or a full disk breaks nothing.

The cache holds what can be fetched or built again (kernels, images), an entry being a directory
that is whole or absent; the data directory holds what was measured.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Generic, TypeVar

import platformdirs
from filelock import FileLock

from lsmeter.base.errors import InfrastructureError, UsageError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")


def cache_dir() -> Path:
    """Return the cache directory (LSMETER_CACHE moves it); it may not exist yet."""
    named = os.environ.get("LSMETER_CACHE")
    return Path(named) if named else platformdirs.user_cache_path("lsmeter", appauthor=False)


def data_dir() -> Path:
    """Return the directory of measured boots (LSMETER_DATA moves it); it may not exist yet."""
    named = os.environ.get("LSMETER_DATA")
    return Path(named) if named else platformdirs.user_data_path("lsmeter", appauthor=False)


def make_dir(path: Path) -> Path:
    """Make `path` and its parents; raise InfrastructureError with the reason if that fails."""
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a write to `path` that fails in the block into the error that a user reads."""
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error) from error


@contextmanager
def reading(path: Path | str, hint: str = "make it readable and try again") -> Iterator[None]:
    """Turn a read of the user's file `path` that fails in the block into a UsageError."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", hint=hint) from error


def cannot_write(path: Path, error: OSError) -> InfrastructureError:
    """Turn a failed write into the error that a user reads."""
    reason = error.strerror or str(error)
    return InfrastructureError(
        f"cannot write {path}: {reason}",
        hint="free some space or name another directory (--out, LSMETER_CACHE, LSMETER_DATA)",
    )


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hex digits; InfrastructureError when it is unreadable."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InfrastructureError(
            f"cannot read {path}: {error.strerror}", hint="make it readable and try again"
        ) from error


def write_atomic(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that a reader sees all of it or nothing, also after a kill."""
    make_dir(path.parent)
    partial = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
    try:
        nameless = _nameless(path.parent)
        with nameless or partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), 0o644)
            if nameless:
                # Only with a directory (which an absolute path does not need) does it follow links.
                number = file.fileno()
                os.link(f"/proc/self/fd/{number}", partial, src_dir_fd=number)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise cannot_write(path, error) from error


def _nameless(directory: Path) -> BinaryIO | None:
    """Open a file that has no name yet, so that a kill leaves nothing; None where that cannot be.

    Not every file system has them (O_TMPFILE in open(2)): NFS does not.
    """
    try:
        return os.fdopen(os.open(directory, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600), "wb")
    except OSError:
        return None


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the cache-wide lock `name`: the second process waits until the first has finished."""
    directory = make_dir(cache_dir() / "locks")
    with FileLock(directory / f"{name}.lock"):
        yield


@contextmanager
def new_entry(final: Path) -> Iterator[Path]:
    """Give an empty directory that becomes `final` when the block ends without an error.

    A kill in the middle leaves only a hidden directory beside `final`, which the next call
    removes; `final` itself is always whole. Hold `locked` around it.
    """
    make_dir(final.parent)
    partial = final.parent / f".{final.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with writing(final):
            partial.mkdir()
            yield partial
            shutil.rmtree(final, ignore_errors=True)
            partial.replace(final)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


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
        from pydantic import ValidationError  # noqa: PLC0415  (loads in a tenth of a second)

        try:
            facts = self._adapter.validate_json((entry / self.file).read_bytes())
            return facts if self.whole(facts, entry) else None
        except (OSError, ValidationError):
            return None

    def all(self) -> tuple[T, ...]:
        """Return the facts of every entry, by name; damaged ones are left out."""
        homes = [path.parent for path in sorted(self.home.glob(f"[!.]*/{self.file}"))]
        return tuple(facts for facts in map(self.read, homes) if facts is not None)

    def write(self, entry: Path, facts: T) -> None:
        """Describe the entry in a directory."""
        write_atomic(entry / self.file, self._adapter.dump_json(facts, indent=1) + b"\n")

    @functools.cached_property
    def _adapter(self) -> TypeAdapter[T]:
        from pydantic import TypeAdapter  # noqa: PLC0415

        return TypeAdapter(self.kind)
