# SPDX-License-Identifier: GPL-2.0-or-later
"""A worker's files by digest, bounded: what was used least recently makes room."""

from __future__ import annotations

import fcntl
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from lsmeter.core.errors import InfrastructureError
from lsmeter.core.storage import known_sha256, make_dir, sha256_of, writing

SHA256 = re.compile("[0-9a-f]{64}")
_RUN = re.compile("[0-9a-f]{16}")
_USED = ".used"
_PARTIAL = ".partial"
_STALE_S = 3600.0  # after which a piece that nobody continued is thrown away


class LacksError(Exception):
    """Files that the store does not have, or no longer as they were; by digest."""

    def __init__(self, digests: Iterable[str]) -> None:
        super().__init__("files are missing")
        self.digests = tuple(digests)


@dataclass(frozen=True)
class Store:
    """A directory of files by digest, of at most so many bytes; processes may share it."""

    home: Path
    most_bytes: int

    @contextmanager
    def held(self, digests: Iterable[str]) -> Iterator[Mapping[str, Path]]:
        """Give the files of these digests, checked; none is removed in the block."""
        with ExitStack() as stack:
            found, lacks = {}, []
            for sha256 in digests:
                path = self.home / sha256
                try:
                    file = stack.enter_context(path.open("rb"))
                except OSError:
                    lacks.append(sha256)
                    continue
                fcntl.flock(file, fcntl.LOCK_SH)
                # Another process may have removed it before it was held.
                if not path.exists() or known_sha256(path) != sha256:
                    path.unlink(missing_ok=True)
                    lacks.append(sha256)
                with suppress(OSError):
                    (self.home / f"{sha256}{_USED}").touch()
                found[sha256] = path
            if lacks:
                raise LacksError(lacks)
            yield found

    def put(self, run: str, sha256: str, offset: int, total_bytes: int, data: bytes) -> None:
        """Take a piece of a file, in order; the last one makes it whole, if its digest is right.

        run: who sends it, since two may send the same file at the same time.
        Raises InfrastructureError for what cannot be taken.
        """
        named = SHA256.fullmatch(sha256) and _RUN.fullmatch(run)
        if not named or not 0 <= offset <= offset + len(data) <= total_bytes:
            raise InfrastructureError("a piece of no file")
        path = self.home / sha256
        partial = self.home / f".{sha256}.{run}{_PARTIAL}"
        make_dir(self.home)
        if not offset:
            self._make_room(total_bytes)
            partial.unlink(missing_ok=True)
        with writing(path), partial.open("ab") as file:
            if file.tell() != offset:
                raise InfrastructureError(f"a piece of {sha256[:12]} came out of order")
            file.write(data)
        if offset + len(data) < total_bytes:
            return
        if sha256_of(partial) != sha256:
            partial.unlink()
            raise InfrastructureError(f"{sha256[:12]} arrived damaged")
        with writing(path):
            partial.replace(path)

    def _make_room(self, wanted_bytes: int) -> None:
        """Remove what is used least recently and held by nobody, until a file fits."""
        if wanted_bytes > self.most_bytes:
            raise InfrastructureError(
                f"a file of {wanted_bytes >> 20} MiB is larger than the store of this worker",
                hint="LSMETER_SENT_GIB makes it larger",
            )
        for path in self.home.glob(f".*{_PARTIAL}"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _STALE_S:
                    path.unlink()
        sizes: dict[Path, int] = {}
        for path in self.home.iterdir():
            with suppress(OSError):  # another process has removed it
                if SHA256.fullmatch(path.name):
                    sizes[path] = path.stat().st_size
        total = sum(sizes.values())
        for path in sorted(sizes, key=self._used_s):
            if total + wanted_bytes <= self.most_bytes:
                return
            total -= self._removed(path)
        if total + wanted_bytes > self.most_bytes:
            raise InfrastructureError("every file of the store is in use: no room for another")

    def _used_s(self, path: Path) -> float:
        try:
            return (self.home / f"{path.name}{_USED}").stat().st_mtime
        except OSError:
            return 0.0

    def _removed(self, path: Path) -> int:
        """Remove a file that nobody holds; return its size, 0 for one that is held."""
        with suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            size = path.stat().st_size
            path.unlink()
            (self.home / f"{path.name}{_USED}").unlink(missing_ok=True)
            return size
        return 0
