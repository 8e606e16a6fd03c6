# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds what a command needs: its file, interpreter, loader and shared libraries.

ELF headers and `#!` lines are read; nothing of the command, nor its loader, is run here.
"""

from __future__ import annotations

import posixpath
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from lsmeter.core.errors import UsageError
from lsmeter.core.model.arch import Arch
from lsmeter.core.printable import printable
from lsmeter.sources.commands.elf import MAGIC, ForeignElfError, read_needs
from lsmeter.sources.commands.tree import Entry, Tree, read_tar

_DIRECTORIES = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
_CONF, _CACHE = "/etc/ld.so.conf", "/etc/ld.so.cache"
_MOST_CONFS = 100
_MOST_SCRIPTS = 4  # interpreters that are scripts themselves, as in the kernel
_TEMPORARY = "tmp"  # of the guest
# Where env looks for an interpreter: the command's environment has no PATH unless one is given.
_PATH = "/usr/local/bin:/bin:/usr/bin"
_ACCOUNTS = {
    "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
    "/etc/group": "root:x:0:\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
_ADD = "install it, or add it: --with FILE"
_FOREIGN = "give a root file system of {} that has it: --root DIRECTORY|TAR"
_PYTHON = re.compile(r"python3\.[0-9]{1,3}")
# Of an interpreter's own library, what no program needs.
_NO_LIBRARY = ("test", "tests", "site-packages", "dist-packages", "idlelib", "ensurepip", "lib2to3")


class Collector:
    """Adds a command and what it needs to a tree."""

    def __init__(self, tree: Tree, arch: Arch) -> None:
        self.tree, self.arch = tree, arch
        self._seen: set[str] = set()
        self._search = (*_configured(tree), *_DIRECTORIES)

    def add_program(self, path: str, depth: int = 0) -> None:
        """Add a program: an ELF file with its libraries, or a script with its interpreter."""
        data = self._data(path)
        if data.startswith(MAGIC):
            self._needs_of(path)
            self._library_of(path)
        elif data.startswith(b"#!") and depth < _MOST_SCRIPTS:
            self._script(path, data, depth)
        else:
            raise UsageError(
                f"exec: {printable(path)} is neither an ELF file nor a script",
                hint="a script begins with #! and its interpreter",
            )

    def add_path(self, path: str) -> None:
        """Add a file or a directory with all below it, and the libraries of its ELF files."""
        try:
            for name in self.tree.add_below(path):
                self._needs_if_elf(name)
        except OSError as error:
            raise UsageError(f"--with {printable(path)}: {error.strerror}") from error

    def _needs_if_elf(self, path: str) -> None:
        entry = self.tree.entries.get(path)
        if entry and entry.data.startswith(MAGIC):
            self._needs_of(path, strict=False)

    def _data(self, path: str) -> bytes:
        try:
            real = self.tree.add(path)
        except OSError as error:
            raise UsageError(f"exec: {printable(path)}: {error.strerror}") from error
        entry = self.tree.entries.get(real)
        if entry is None or not stat.S_ISREG(entry.mode):
            raise UsageError(f"exec: {printable(path)} is no file that can be run")
        if not entry.mode & 0o111:
            raise UsageError(f"exec: {printable(path)} is not executable", hint="chmod +x")
        return entry.data

    def _script(self, path: str, data: bytes, depth: int) -> None:
        words = data[2:256].split(b"\n")[0].decode("utf-8", "replace").split()
        if not words:
            raise UsageError(f"exec: {printable(path)} names no interpreter behind its #!")
        self.add_program(words[0], depth + 1)
        if posixpath.basename(words[0]) != "env":
            return
        name = next((word for word in words[1:] if word[0] != "-" and "=" not in word), "")
        self.add_program(find(self.tree, name, _PATH, "/"), depth + 1)

    def _library_of(self, path: str) -> None:
        """Add the library of an interpreter that cannot start without it."""
        real = self.tree.add(path)
        if _PYTHON.fullmatch(posixpath.basename(real)):
            prefix = posixpath.dirname(posixpath.dirname(real))
            library = f"{prefix}/lib/{posixpath.basename(real)}"
            if not self.tree.closed and Path(library).is_dir():
                for name in self.tree.add_below(library, _NO_LIBRARY):
                    self._needs_if_elf(name)

    def _needs_of(self, path: str, *, strict: bool = True, first: tuple[str, ...] = ()) -> None:
        real = self.tree.add(path)
        if real in self._seen:
            return
        self._seen.add(real)
        try:
            needs = read_needs(self.tree.entries[real].data, self.arch)
        except ForeignElfError as error:
            if strict:
                raise UsageError(
                    f"exec: {printable(path)} runs in no guest of {self.arch.name}: {error}",
                    hint="" if self.arch.is_host else _FOREIGN.format(self.arch.name),
                ) from error
            return
        if needs.loader:
            self._library(needs.loader, (), real, strict=strict, first=())
            if self.tree.has_file(_CACHE):
                self.tree.add(_CACHE)
        origin = posixpath.dirname(real)
        own = (re.sub(r"\$\{?ORIGIN\}?", lambda _: origin, item) for item in needs.first)
        where = (*own, *first)
        for name in needs.libraries:
            self._library(name, (*where, *self._search), real, strict=strict, first=where)

    def _library(
        self, name: str, places: Sequence[str], of: str, *, strict: bool, first: tuple[str, ...]
    ) -> None:
        for place in [""] if "/" in name else dict.fromkeys(places):
            path = posixpath.join(place, name)
            if self._fits(path):
                self._needs_of(path, strict=strict, first=first)
                return
        if strict:
            raise UsageError(
                f"exec: {printable(of)} needs {printable(name)}, which is nowhere here",
                hint=_ADD if self.arch.is_host else _FOREIGN.format(self.arch.name),
            )

    def _fits(self, path: str) -> bool:
        """Tell whether a library is there, and for guests: one of another machine is passed by."""
        if not path.startswith("/") or not self.tree.has_file(path):
            return False
        try:
            read_needs(self.tree.content(path), self.arch)
        except (ForeignElfError, OSError):  # the loader passes by what it may not read, too
            return False
        return True


def find(tree: Tree, name: str, path: str, directory: str) -> str:
    """Return where a command is: at its path, or in one of the directories of PATH."""
    if "/" in name:
        return posixpath.normpath(posixpath.join(directory, name))
    for place in path.split(":"):
        found = posixpath.join(place or ".", name)
        if name and tree.has_file(found):
            return found
    raise UsageError(f"exec: no command '{printable(name)[:60]}' in PATH")


def make_tree(root: Path | None) -> Tree:
    """Return a tree to begin with: empty, for what is found here; or a whole one of the user's."""
    if root is None:
        tree = Tree()
        for path, text in _ACCOUNTS.items():
            tree.put("/etc", Entry(stat.S_IFDIR | 0o755))
            tree.put(path, Entry(stat.S_IFREG | 0o644, text.encode()))
    elif root.is_dir():
        tree = Tree(str(root.resolve()))
        for _ in tree.add_below("/"):
            pass
        tree.closed = True
    else:
        tree = read_tar(root)
    for name, mode in (("dev", 0o755), ("proc", 0o755), ("sys", 0o755), ("root", 0o700)):
        tree.make_directory(f"/{name}", mode)
    tree.make_directory(f"/{_TEMPORARY}", 0o1777)
    return tree


def _configured(tree: Tree) -> Iterator[str]:
    """Give the directories that the loader's configuration names."""
    todo, seen = [_CONF], 0
    while todo and seen < _MOST_CONFS:
        path, seen = todo.pop(0), seen + 1
        try:
            lines = tree.content(path).decode(errors="replace").splitlines()
        except (OSError, UsageError):
            continue
        for line in (line.partition("#")[0].strip() for line in lines):
            if line.startswith("include"):
                pattern = posixpath.join("/", line.removeprefix("include").strip())
                todo += tree.matching(pattern) if pattern.strip("/") else []
            elif line.startswith("/"):
                yield line
