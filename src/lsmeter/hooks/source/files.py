# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a kernel tree as untrusted input: which files, how large at most, and nothing outside it.

Only this file touches the tree; the other stages work on the text it returns.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from lsmeter.errors import UsageError
from lsmeter.registry import nearest

MAX_FILE_BYTES = 4 * 1024 * 1024  # ten times the largest C file of a kernel's VFS
MAX_FILES = 20_000
MAX_DIRECTORY_DEPTH = 8  # below the folders named here

# Every folder: (path, whether its subfolders are read too). Code elsewhere is not followed.
CORE = (
    ("fs", False),
    ("fs/crypto", False),
    ("fs/exportfs", False),
    ("fs/iomap", False),
    ("fs/notify", True),
    ("fs/quota", False),
    ("fs/verity", False),
    ("mm", False),
    ("kernel", False),
    ("security", True),
    ("include/linux", False),
)
CORE_FILES = ("lib/iov_iter.c",)

# A file system is its folder under fs/, but for these.
FILESYSTEM_FOLDERS = {"ext4": ("fs/ext4", "fs/jbd2"), "tmpfs": ()}
FILESYSTEM_FILES = {"tmpfs": ("mm/shmem.c",)}
DEFAULT_FILESYSTEMS = ("tmpfs", "ext2", "ext4", "xfs")

# A kernel without a memory management unit runs none of these modules' policies.
NO_MMU = re.compile(r"(^|[/_-])nommu")


@dataclass(frozen=True)
class SourceFile:
    """One file to read: its path below the tree, and what tells whether it has changed."""

    path: str
    size_bytes: int
    mtime_ns: int
    ctime_ns: int


@dataclass(frozen=True)
class Listing:
    """The files of a tree that the analysis reads, and the file system that owns each."""

    root: Path
    version: str
    files: tuple[SourceFile, ...]
    owners: tuple[tuple[str, tuple[str, ...]], ...]  # file system: its paths
    problems: tuple[str, ...]


def list_tree(root: Path, filesystems: tuple[str, ...]) -> Listing:
    """List what is to be read below `root`.

    Raises UsageError when it is no kernel tree, is too old or damaged, or lacks a file system.
    """
    version = _kernel_version(root)
    problems: list[str] = []
    found: dict[str, SourceFile] = {}
    for folder, deep in CORE:
        _list_folder(root, folder, found, problems, deep=deep)
    for path in CORE_FILES:
        _add(root, path, found, problems)
    owners = tuple((name, _own_files(root, name, found, problems)) for name in filesystems)
    if len(found) > MAX_FILES:
        raise UsageError(
            f"{root}: {len(found)} files to read, more than {MAX_FILES}: this is no kernel tree",
            hint="name the top folder of one kernel's source",
        )
    files = tuple(found[path] for path in sorted(found))
    return Listing(root, version, files, owners, tuple(problems))


def read_source(root: Path, path: str) -> str:
    """Return the text of one listed file; bytes that are no UTF-8 become replacement marks.

    Raises UsageError when it vanished or became larger than MAX_FILE_BYTES since the listing.
    """
    try:
        with (root / path).open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"cannot read {root / path}: {error.strerror}",
            hint="the tree changed while it was read, or it is not readable; try again",
        ) from error
    if len(data) > MAX_FILE_BYTES:
        raise UsageError(
            f"{root / path} grew beyond {MAX_FILE_BYTES} bytes while the tree was read",
            hint="try again when nothing writes to the tree",
        )
    return data.decode("utf-8", errors="replace")


def _kernel_version(root: Path) -> str:
    if not root.is_dir():
        raise UsageError(f"{root} is no directory", hint="name the top folder of a kernel source")
    makefile = root / "Makefile"
    values: dict[str, str] = {}
    if makefile.is_file() and makefile.stat().st_size <= MAX_FILE_BYTES:
        text = read_source(root, "Makefile")
        pattern = r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION)[ \t]*=[ \t]*(\S*)[ \t]*$"
        values = dict(re.findall(pattern, text, re.MULTILINE))
    if not values.get("VERSION", "").isdigit() or not values.get("PATCHLEVEL", "").isdigit():
        raise UsageError(
            f"{root} is no kernel tree: its Makefile has no VERSION and PATCHLEVEL",
            hint="name the top folder of a kernel source, for example linux-6.12",
        )
    for needed in ("security/security.c", "include/linux/lsm_hooks.h", "fs/namei.c"):
        if not (root / needed).is_file():
            raise UsageError(
                f"{root} is damaged or not whole: {needed} is missing",
                hint="unpack the whole source again (git: git checkout .)",
            )
    sublevel = values.get("SUBLEVEL") or "0"
    return f"{values['VERSION']}.{values['PATCHLEVEL']}.{sublevel}{values.get('EXTRAVERSION', '')}"


def _own_files(
    root: Path, name: str, found: dict[str, SourceFile], problems: list[str]
) -> tuple[str, ...]:
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
        raise UsageError(
            f"--filesystem: {name!r} is no name of a file system", hint="for example ext4 or btrfs"
        )
    own: dict[str, SourceFile] = {}
    for folder in FILESYSTEM_FOLDERS.get(name, (f"fs/{name}",)):
        _list_folder(root, folder, own, problems, deep=True)
    for path in FILESYSTEM_FILES.get(name, ()):
        _add(root, path, own, problems)
    if not any(path.endswith(".c") for path in own):
        known = _folders_with_source(root / "fs")
        raise UsageError(
            f"{root} has no source of the file system '{name}'{nearest(name, known)}",
            hint=f"it has tmpfs and {', '.join(known)}" if known else "this tree has none",
        )
    found.update(own)
    return tuple(sorted(own))


def _folders_with_source(fs: Path) -> list[str]:
    """Name the file systems of a tree: folders under fs/ that have a Kconfig."""
    return sorted(entry.name for entry in fs.iterdir() if (entry / "Kconfig").is_file())


def _list_folder(
    root: Path, folder: str, found: dict[str, SourceFile], problems: list[str], *, deep: bool
) -> None:
    """Add the .c and .h files of a folder; links to folders are not followed, so none can loop."""
    waiting = [(folder, 0)]
    while waiting:
        here, depth = waiting.pop()
        try:
            entries = sorted(os.scandir(root / here), key=lambda entry: entry.name)
        except OSError:
            continue  # older and newer kernels lack some of the folders
        for entry in entries:
            path = f"{here}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if not deep:
                    continue
                if depth < MAX_DIRECTORY_DEPTH:
                    waiting.append((path, depth + 1))
                else:
                    problems.append(f"{path}: nested too deep, not read")
            elif entry.name.endswith((".c", ".h")) and not NO_MMU.search(path):
                _add(root, path, found, problems)


def _add(root: Path, path: str, found: dict[str, SourceFile], problems: list[str]) -> None:
    try:
        facts = (root / path).lstat()
    except OSError:
        return
    if not stat.S_ISREG(facts.st_mode):
        problems.append(f"{path}: no regular file (a link or device), not read")
    elif facts.st_size > MAX_FILE_BYTES:
        problems.append(f"{path}: {facts.st_size} bytes, more than {MAX_FILE_BYTES}, not read")
    else:
        found[path] = SourceFile(path, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)


def read_ignored(root: Path, folders: set[str]) -> dict[str, frozenset[str]]:
    """Return the plain names in the .gitignore of each folder: files that a build makes."""
    ignored: dict[str, frozenset[str]] = {}
    for folder in folders:
        path = f"{folder}/.gitignore"
        try:
            facts = (root / path).lstat()
        except OSError:
            continue
        if stat.S_ISREG(facts.st_mode) and facts.st_size <= MAX_FILE_BYTES:
            lines = (line.strip().lstrip("/") for line in read_source(root, path).splitlines())
            names = (line for line in lines if line and not line.startswith("#"))
            ignored[folder] = frozenset(names)
    return ignored
