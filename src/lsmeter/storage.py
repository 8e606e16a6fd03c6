# SPDX-License-Identifier: GPL-2.0-or-later
"""Where files live, and how they are written so that a kill or a full disk breaks nothing.

The cache holds what can be fetched or built again (kernels, images); the data directory holds
what was measured. LSMETER_CACHE and LSMETER_DATA move them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs
from filelock import FileLock

from lsmeter.errors import InfrastructureError


def cache_dir() -> Path:
    """Return the cache directory; it may not exist yet."""
    named = os.environ.get("LSMETER_CACHE")
    return Path(named) if named else platformdirs.user_cache_path("lsmeter", appauthor=False)


def data_dir() -> Path:
    """Return the directory of measured boots; it may not exist yet."""
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


def write_atomic(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that a reader sees all of it or nothing, also after a kill."""
    make_dir(path.parent)
    try:
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            temporary = Path(file.name)
            try:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                temporary.chmod(0o644)
                temporary.replace(path)
            except OSError:
                temporary.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise cannot_write(path, error) from error


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
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        yield partial
        shutil.rmtree(final, ignore_errors=True)
        partial.replace(final)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise cannot_write(final, error) from error
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
