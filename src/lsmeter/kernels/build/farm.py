# SPDX-License-Identifier: GPL-2.0-or-later
"""A tree of links to a kernel tree in which a few files are our own.

Objects remember the path that they were built from, so a changed copy of a tree would compile
everything again, and a user's tree must not be touched. So every build has, beside its objects,
a directory that links to the source entry by entry; only the directories on the way to a changed
file are real. Files that are our own are written only when their content changes, so that make,
which goes by time, compiles what changed and nothing else.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from lsmeter.storage import cannot_write

Entry = Path | bytes  # a link to that path, or a file with that content

_LEFT_OUT = frozenset({".git"})  # the build would name the kernel after the state of the tree


def plan_links(source: Path, own: Mapping[str, bytes]) -> dict[str, Entry]:
    """Plan a farm of the whole of `source`, with the files `own` (relative) in place of its."""
    entries: dict[str, Entry] = dict(own)
    real = {str(parent) for path in own for parent in PurePosixPath(path).parents}
    for folder in sorted(real | {"."}):
        home = source / folder
        if not home.is_dir():
            continue
        for entry in home.iterdir():
            path = entry.relative_to(source).as_posix()
            if path not in real and path not in own and path not in _LEFT_OUT:
                entries[path] = source / path
    return entries


def plan_files(source: Path, files: Sequence[str], own: Mapping[str, bytes]) -> dict[str, Entry]:
    """Plan a farm of only `files` of `source`: for a tree that has other things in it."""
    return {**{path: source / path for path in files}, **own}


def sync(farm: Path, entries: Mapping[str, Entry]) -> None:
    """Make the directory `farm` hold exactly `entries`, changing only what differs."""
    folders = {str(parent) for path in entries for parent in PurePosixPath(path).parents}
    try:
        farm.mkdir(parents=True, exist_ok=True)
        _remove_others(farm, entries, folders)
        for folder in sorted(folders):
            (farm / folder).mkdir(parents=True, exist_ok=True)
        for path, entry in entries.items():
            _put(farm / path, entry)
    except OSError as error:
        raise cannot_write(farm, error) from error


def _remove_others(farm: Path, entries: Mapping[str, Entry], folders: set[str]) -> None:
    for home, subfolders, names in os.walk(farm):
        for name in [*subfolders, *names]:
            path = Path(home, name)
            relative = path.relative_to(farm).as_posix()
            is_real_folder = path.is_dir() and not path.is_symlink()
            if is_real_folder and relative not in folders:
                shutil.rmtree(path)
                subfolders.remove(name)
            elif not is_real_folder and relative not in entries:
                path.unlink()


def _put(path: Path, entry: Entry) -> None:
    if isinstance(entry, Path):
        if path.is_symlink() and path.readlink() == entry:
            return
        path.unlink(missing_ok=True)
        path.symlink_to(entry)
        return
    if path.is_file() and not path.is_symlink() and path.read_bytes() == entry:
        return
    path.unlink(missing_ok=True)
    path.write_bytes(entry)
