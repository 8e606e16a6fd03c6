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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Generic, TypeVar

import platformdirs
from filelock import FileLock

from lsmeter.base.errors import InfrastructureError

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
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error
    return path


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
        partial.mkdir()
        yield partial
        shutil.rmtree(final, ignore_errors=True)
        partial.replace(final)
    except OSError as error:
        raise cannot_write(final, error) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@dataclass(frozen=True)
class Entries(Generic[T]):
    """The entries of one kind; their facts are a dataclass, checked when they are read.

    folder: under the cache. file: the name of the JSON file.
    """

    folder: str
    file: str
    kind: type[T]

    @property
    def home(self) -> Path:
        """Return the directory of all entries; it may not exist yet."""
        return cache_dir() / self.folder

    def read(self, entry: Path) -> T | None:
        """Return the facts of the entry in a directory; None when it is absent or damaged."""
        from pydantic import ValidationError  # noqa: PLC0415  (loads in a tenth of a second)

        try:
            return self._adapter.validate_json((entry / self.file).read_bytes())
        except (OSError, ValidationError):
            return None

    def all(self) -> tuple[tuple[Path, T], ...]:
        """Return the directory and facts of every entry, by name; damaged ones are left out."""
        homes = [path.parent for path in sorted(self.home.glob(f"[!.]*/{self.file}"))]
        found = [(home, self.read(home)) for home in homes]
        return tuple((home, facts) for home, facts in found if facts is not None)

    def write(self, entry: Path, facts: T) -> None:
        """Describe the entry in a directory."""
        write_atomic(entry / self.file, self._adapter.dump_json(facts, indent=1) + b"\n")

    @functools.cached_property
    def _adapter(self) -> TypeAdapter[T]:
        from pydantic import TypeAdapter  # noqa: PLC0415

        return TypeAdapter(self.kind)
