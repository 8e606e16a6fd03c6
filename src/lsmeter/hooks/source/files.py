# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a kernel tree as untrusted input: which files, how large at most, and nothing outside it.

Only this file touches the tree; the other stages work on the text it returns.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from lsmeter.base.errors import UsageError
from lsmeter.base.registry import nearest
from lsmeter.hooks.source.config import EVERYTHING, Config, left_out
from lsmeter.hooks.source.rules import TREE

MAX_FILE_BYTES = 4 * 1024 * 1024  # ten times the largest C file of a kernel's VFS
MAX_FILES = 20_000
MAX_DIRECTORY_DEPTH = 8  # below the folders named here

DEFAULT_FILESYSTEMS = ("tmpfs", "ext2", "ext4", "xfs")

# A kernel without a memory management unit runs none of these modules' policies.
NO_MMU = re.compile(r"(^|[/_-])nommu")
_VERSION = r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION)[ \t]*=[ \t]*(\S*)[ \t]*$"


@dataclass
class Listing:
    """The files of a tree that the analysis reads, and those that each file system owns."""

    root: Path
    version: str
    config: Config = EVERYTHING
    files: dict[str, os.stat_result] = field(default_factory=dict)
    owners: dict[str, tuple[str, ...]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def list_tree(root: Path, filesystems: tuple[str, ...], config: Config = EVERYTHING) -> Listing:
    """List what is to be read below `root`: what `config` compiles, and headers.

    Raises UsageError when it is no kernel tree, is too old or damaged, or lacks a file system.
    """
    listing = Listing(root, _kernel_version(root), config)
    _list(listing, TREE["folders"], deep=False)
    _list(listing, TREE["deep"], TREE["files"])
    for name in filesystems:
        listing.owners[name] = _own_files(listing, name)
    if len(listing.files) > MAX_FILES:
        raise UsageError(
            f"{root}: {len(listing.files)} files to read, more than {MAX_FILES}: no kernel tree",
            hint="name the top folder of one kernel's source",
        )
    listing.files = dict(sorted(listing.files.items()))
    if config.options is not None:
        _drop_left_out(listing)
    return listing


def _drop_left_out(listing: Listing) -> None:
    """Drop the files that the configuration does not compile, and file systems without any."""
    inside = {
        path: [f"{one}/" for one in PurePosixPath(path).parents[:-1]] for path in listing.files
    }
    makefiles = {
        folder.rstrip("/"): text
        for folder in sorted(set().union(*inside.values()))
        for name in ("Makefile", "Kbuild")
        if (text := read_optional(listing.root, f"{folder}{name}"))
    }
    left = left_out(makefiles, listing.config)
    listing.files = {
        path: file
        for path, file in listing.files.items()
        if not left & {re.sub(r"\.c$", ".o", path), *inside[path]}
    }
    for name, paths in tuple(listing.owners.items()):
        listing.owners[name] = tuple(path for path in paths if path in listing.files)
        if not any(path.endswith(".c") for path in listing.owners[name]):
            del listing.owners[name]
            listing.problems.append(f"{name} is not analysed: {listing.config.origin} has it off")


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


def read_optional(root: Path, path: str) -> str:
    """Return the text of a file that may be missing, a link or too large: then ""."""
    file = root / path
    plain = file.is_file() and not file.is_symlink() and file.stat().st_size <= MAX_FILE_BYTES
    return read_source(root, path) if plain else ""


def ignored_names(root: Path, folder: str) -> frozenset[str]:
    """Return the plain names in the .gitignore of a folder: files that a build makes."""
    lines = (line.strip() for line in read_optional(root, f"{folder}/.gitignore").splitlines())
    return frozenset(line.lstrip("/") for line in lines if line and not line.startswith("#"))


def _kernel_version(root: Path) -> str:
    if not root.is_dir():
        raise UsageError(f"{root} is no directory", hint="name the top folder of a kernel source")
    found = re.findall(_VERSION, read_optional(root, "Makefile"), re.MULTILINE)
    values: dict[str, str] = dict(found)
    version = [values.get(name, "") for name in ("VERSION", "PATCHLEVEL")]
    if not all(map(str.isdigit, version)):
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
    return ".".join((*version, values.get("SUBLEVEL") or "0")) + values.get("EXTRAVERSION", "")


def _own_files(listing: Listing, name: str) -> tuple[str, ...]:
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
        raise UsageError(
            f"--filesystem: {name!r} is no name of a file system", hint="for example ext4 or btrfs"
        )
    own = Listing(listing.root, "", problems=listing.problems)
    folders = TREE["filesystem_folders"].get(name, (f"fs/{name}",))
    _list(own, folders, TREE["filesystem_files"].get(name, ()))
    if not any(path.endswith(".c") for path in own.files):
        fs = listing.root / "fs"
        known = sorted(entry.name for entry in fs.iterdir() if (entry / "Kconfig").is_file())
        raise UsageError(
            f"{listing.root} has no source of the file system '{name}'{nearest(name, known)}",
            hint=f"it has tmpfs and {', '.join(known)}" if known else "this tree has none",
        )
    listing.files |= own.files
    return tuple(sorted(own.files))


def _list(
    listing: Listing, folders: Iterable[str], files: Iterable[str] = (), *, deep: bool = True
) -> None:
    """Add files, and the .c and .h files of folders; no links, so none can loop or lead out."""
    paths = list(files)
    for folder in folders:  # older and newer kernels lack some of them
        for here, inner, names in os.walk(listing.root / folder):
            inside = Path(here).relative_to(listing.root).as_posix()
            if not deep or inside.count("/") - folder.count("/") >= MAX_DIRECTORY_DEPTH:
                too_deep = (f"{inside}/{one}: nested too deep, not read" for one in inner if deep)
                listing.problems.extend(too_deep)
                inner.clear()
            paths += (f"{inside}/{name}" for name in names if name.endswith((".c", ".h")))
    for path in paths:
        try:
            facts = (listing.root / path).lstat()
        except OSError:
            continue
        if NO_MMU.search(path):
            continue
        if not stat.S_ISREG(facts.st_mode):
            listing.problems.append(f"{path}: no regular file (a link or device), not read")
        elif facts.st_size > MAX_FILE_BYTES:
            size = f"{facts.st_size} bytes, more than {MAX_FILE_BYTES}"
            listing.problems.append(f"{path}: {size}, not read")
        else:
            listing.files[path] = facts
