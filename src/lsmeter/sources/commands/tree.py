# SPDX-License-Identifier: GPL-2.0-or-later
"""A tree of files as it is packed: what is added, with the links on the way to it.

Paths are those of the guest, and of this machine below `root`.
"""

from __future__ import annotations

import errno
import os
import posixpath
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from lsmeter.core.archives import BROKEN, BoundedMember, check_end, is_of_disk
from lsmeter.core.errors import UsageError
from lsmeter.core.inputs import open_file, read_file

MOST_FILES = 100_000
MOST_BYTES = 512 << 20
_MOST_LINKS = 40  # on the way to one file, as in the kernel
_MOST_PATH = 4096  # likewise
_HINT = "name less with --with, or a smaller --root"
_GIVEN = ("/dev", "/proc", "/sys")  # the guest's own


@dataclass(frozen=True)
class Entry:
    """A file, a directory or a link (of which data is the target)."""

    mode: int
    data: bytes = b""
    mtime_s: int = 0


@dataclass
class Tree:
    """The entries by their path; skipped are those that are neither file, directory nor link."""

    root: str = ""
    closed: bool = False  # it has all its files: none is looked for on this machine
    entries: dict[str, Entry] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    held_bytes: int = 0

    def put(self, path: str, entry: Entry) -> None:
        """Add an entry, unless it is there."""
        if path in self.entries or not path.strip("/"):
            return
        self.held_bytes += len(entry.data)
        if len(self.entries) >= MOST_FILES or self.held_bytes > MOST_BYTES:
            raise UsageError(
                f"exec: its files are more than {MOST_FILES} or {MOST_BYTES >> 20} MiB",
                hint=_HINT,
            )
        self.entries[path] = entry

    def make_directory(self, path: str, mode: int = 0o755) -> None:
        """Add a directory with those that it is in."""
        for above in reversed(PurePosixPath(path).parents):
            self.put(str(above), Entry(stat.S_IFDIR | 0o755))
        self.put(path, Entry(stat.S_IFDIR | mode))

    def has_file(self, path: str) -> bool:
        """Tell whether a file is there, in the tree or to be added."""
        if not self.closed:
            return Path(path).is_file()
        try:
            self.content(path)
        except (OSError, UsageError):
            return False
        return True

    def content(self, path: str) -> bytes:
        """Return what is in a file, in the tree or to be added; OSError where there is none."""
        if not self.closed:
            return read_file(Path(path), MOST_BYTES, "a library")
        entry = self.entries.get(self.add(path))
        if entry is None or not stat.S_ISREG(entry.mode):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return entry.data

    def matching(self, pattern: str) -> list[str]:
        """Return the paths that an absolute pattern fits."""
        if self.closed:
            return sorted(path for path in self.entries if PurePosixPath(path).match(pattern))
        return sorted(map(str, Path("/").glob(pattern.strip("/"))))

    def add(self, path: str) -> str:
        """Add what a path names with the links on the way; return the path without links.

        OSError where there is nothing. Directories on the way have no time of change: that of one
        where results are written, say, would make another tree of the same files.
        """
        at, links = "/", 0
        todo = [*reversed(path.split("/"))]
        while todo:
            part = todo.pop()
            if part in {"", "."}:
                continue
            if part == "..":
                at = posixpath.dirname(at)
                continue
            here = posixpath.join(at, part)
            if here in _GIVEN:
                return here
            known = self.entries.get(here) or self._read(here)
            if known is None:
                return here
            on_the_way = bool(todo) and stat.S_ISDIR(known.mode)
            self.put(here, replace(known, mtime_s=0) if on_the_way else known)
            if not stat.S_ISLNK(known.mode):
                at = here
                continue
            links += 1
            if links > _MOST_LINKS:
                raise UsageError(f"{path}: more than {_MOST_LINKS} links lead to it")
            target = os.fsdecode(known.data)
            at = "/" if target.startswith("/") else at
            todo += reversed(target.split("/"))
        return at

    def _read(self, path: str) -> Entry | None:
        if self.closed:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        place = self.root + path
        status = os.lstat(place)
        mtime_s = max(0, min(int(status.st_mtime), 2**32 - 1))
        if stat.S_ISDIR(status.st_mode):
            return Entry(stat.S_IFDIR | stat.S_IMODE(status.st_mode), mtime_s=mtime_s)
        if stat.S_ISLNK(status.st_mode):
            return Entry(stat.S_IFLNK | 0o777, os.fsencode(Path(place).readlink()), mtime_s)
        if not stat.S_ISREG(status.st_mode):
            self.skipped.append(path)
            return None
        if self.held_bytes + status.st_size > MOST_BYTES:
            raise UsageError(f"exec: {place}: more than {MOST_BYTES >> 20} MiB", hint=_HINT)
        with open_file(Path(place)) as file:
            return Entry(stat.S_IFREG | stat.S_IMODE(status.st_mode), file.read(), mtime_s)

    def add_below(self, path: str, without: tuple[str, ...] = ()) -> Iterator[str]:
        """Add a file, or a directory with all below it; give the paths of the files.

        without: names of directories that are left out. Links are added as they are, with the file
        that they lead to, if one is there.
        """
        real = self.add(path)
        if real != "/" and not stat.S_ISDIR(self.entries[real].mode):
            yield real
            return
        for folder, names, files in os.walk(self.root + real):
            inside = folder.removeprefix(self.root)
            names[:] = sorted(
                name
                for name in names
                if name not in without and posixpath.join(inside, name) not in _GIVEN
            )
            for name in sorted((*names, *files)):
                yield from self._add_found(posixpath.join(inside, name))

    def _add_found(self, path: str) -> Iterator[str]:
        entry = self._read(path)
        if entry is None:
            return
        self.put(path, entry)
        if stat.S_ISREG(entry.mode):
            yield path
        elif stat.S_ISLNK(entry.mode) and not self.root and Path(path).is_file():
            yield self.add(path)


def read_tar(path: Path) -> Tree:
    """Read a tree from a tar archive; UsageError for a file that is none.

    Nothing is unpacked on this machine: a name that leads upwards stays inside the tree.
    """
    tree = Tree(closed=True)
    try:
        with tarfile.open(path, tarinfo=BoundedMember) as archive:
            for item in archive:
                name = _inside(item.name)
                if name != "/" and not name.startswith(tuple(f"{at}/" for at in _GIVEN)):
                    _take(tree, archive, item, name)
            check_end(archive)
    except BROKEN as error:
        said = "no tar archive that can be read"
        if isinstance(error, OSError) and is_of_disk(error):
            said = f"cannot read it: {error.strerror}"
        raise UsageError(f"--root {path}: {said}") from error
    return tree


def _inside(name: str) -> str:
    """Return the path in the tree that a member's name leads to, which may be absolute."""
    if len(name) > _MOST_PATH:
        raise UsageError(f"--root: {name[:60]}... has more than {_MOST_PATH} characters")
    return posixpath.normpath(f"/{name.lstrip('/')}")


def _take(tree: Tree, archive: tarfile.TarFile, item: tarfile.TarInfo, name: str) -> None:
    tree.make_directory(posixpath.dirname(name))
    mtime_s = max(0, min(int(item.mtime), 2**32 - 1))
    if item.isdir():
        tree.make_directory(name, item.mode & 0o7777)
    elif item.issym():
        tree.put(name, Entry(stat.S_IFLNK | 0o777, os.fsencode(item.linkname), mtime_s))
    elif item.islnk():
        known = tree.entries.get(_inside(item.linkname))
        if known is not None:
            tree.put(name, known)
    elif item.isreg():
        if tree.held_bytes + item.size > MOST_BYTES:
            raise UsageError(f"--root: more than {MOST_BYTES >> 20} MiB", hint=_HINT)
        file = archive.extractfile(item)
        data = file.read() if file else b""
        tree.put(name, Entry(stat.S_IFREG | item.mode & 0o7777, data, mtime_s))
    else:
        tree.skipped.append(name)
