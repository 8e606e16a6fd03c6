# SPDX-License-Identifier: GPL-2.0-or-later
"""Who else can replace a file: what another user can write is not trusted."""

from __future__ import annotations

import os
import pwd
import re
import stat
from contextlib import suppress
from pathlib import Path

_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_HOMES = re.compile(r"HOME|XDG_\w+_(?:HOME|DIR)")


def is_own(status: os.stat_result) -> bool:
    """Say whether a file or directory is the caller's, and written to by nobody else."""
    fine = stat.S_ISDIR(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_nlink == 1)
    return fine and status.st_uid == os.geteuid() and not status.st_mode & _OTHERS


def stranger_of(path: Path, *, shared: bool = False) -> str:
    """Say of a directory of root's who else may write to it or replace it; "" where nobody may.

    An ordinary user is not asked, who risks no more than his own files. shared: it may be one in
    which everybody has files of his own, such as /tmp.
    """
    if os.geteuid():
        return ""
    # Names as they are followed, and what links among them lead to.
    named = (path.absolute(), Path(os.path.realpath(path)))
    for item in (found for last in named for found in (last, *last.parents)):
        with suppress(OSError):
            if why := _writer(item.lstat(), sticky=shared or item not in named):
                return f"{item} {why}"
    return ""


def leave_strangers() -> list[str]:
    """Let root, and what it starts, take nothing from another user's home; say what was left."""
    said = []
    for name in filter(_HOMES.fullmatch, tuple(os.environ)):
        value = os.environ[name]
        if value and (why := stranger_of(Path(value), shared=name == "XDG_RUNTIME_DIR")):
            del os.environ[name]
            if name == "HOME":
                os.environ[name] = _home_of(os.geteuid())
            said.append(f"root does not use {name}: {why}")
    return said


def _writer(status: os.stat_result, *, sticky: bool) -> str:
    # In a name space of users, the owner of all else may show as nobody.
    if status.st_uid not in {os.geteuid(), Path("/").stat().st_uid}:
        return f"belongs to {_name(status.st_uid)}"
    if stat.S_ISLNK(status.st_mode) or (sticky and status.st_mode & stat.S_ISVTX):
        return ""
    own_group = status.st_gid == os.getegid()
    others = stat.S_IWOTH if own_group else _OTHERS
    return "can be written to by others" if status.st_mode & others else ""


def _home_of(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_dir
    except KeyError:
        return "/"  # of a bare root that has no list of users


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
