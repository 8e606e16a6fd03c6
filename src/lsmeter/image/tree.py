# SPDX-License-Identifier: GPL-2.0-or-later
"""Unpacks a root file system without root: what a user may not set is written down instead.

Owners, and modes that would keep the builder itself out, are put into the image afterwards
(lsmeter.image.ext4), so that root and an ordinary user build the same.
"""

from __future__ import annotations

import os
import shutil
import stat
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lsmeter.errors import BuildError
from lsmeter.storage import cannot_write

_CAPABILITY = "SCHILY.xattr.security.capability"
_TYPES = {
    tarfile.DIRTYPE: stat.S_IFDIR,
    tarfile.REGTYPE: stat.S_IFREG,
    tarfile.AREGTYPE: stat.S_IFREG,
    tarfile.SYMTYPE: stat.S_IFLNK,
    tarfile.LNKTYPE: stat.S_IFREG,
    tarfile.FIFOTYPE: stat.S_IFIFO,
}


@dataclass(frozen=True)
class Node:
    """One file as the guest must see it. path begins with a slash; mode has the type."""

    path: str
    mode: int
    uid: int = 0
    gid: int = 0
    mtime_s: int = 0
    capability: bytes = b""  # security.capability, as the kernel stores it


def unpack(archive: Path, into: Path) -> tuple[Node, ...]:
    """Unpack `archive` into the directory `into`; return every file once, the root first.

    What is in /dev is left out: the guest's kernel makes it. Raises BuildError for an archive
    that is damaged or leaves its root.
    """
    nodes = {"/": Node("/", stat.S_IFDIR | 0o755)}
    try:
        with tarfile.open(archive, mode="r|") as members:
            for member in members:
                path = clean_path(member.name)
                if path.startswith("/dev/"):
                    continue
                node = _node(member, path)
                if path != "/":
                    _make(members, member, into / path[1:], into)
                if not member.islnk():  # another name of a file that is already known
                    nodes[path] = node
    except (tarfile.TarError, EOFError) as error:
        raise BuildError(f"the root file system's archive is damaged: {error}") from error
    except OSError as error:
        raise cannot_write(into, error) from error
    _settle_times(nodes.values(), into)
    return tuple(nodes.values())


def clean_path(name: str) -> str:
    """Return a member's path from the root; raise BuildError if it is none that is safe."""
    parts = [part for part in PurePosixPath(name).parts if part not in ("/", ".")]
    if ".." in parts or "\0" in name:
        raise BuildError(f"the root file system has a path that leaves it: {name[:200]}")
    return "/" + "/".join(parts)


def _node(member: tarfile.TarInfo, path: str) -> Node:
    kind = _TYPES.get(member.type)
    if kind is None:
        raise BuildError(f"the root file system has a file of a strange type: {path[:200]}")
    # tarfile gives PAX values as text; bytes that are no UTF-8 come as surrogates.
    capability = member.pax_headers.get(_CAPABILITY, "").encode("utf-8", "surrogateescape")
    return Node(
        path,
        kind | (member.mode & 0o7777),
        member.uid,
        member.gid,
        int(member.mtime),
        capability,
    )


def _make(members: tarfile.TarFile, member: tarfile.TarInfo, to: Path, root: Path) -> None:
    if not to.parent.resolve().is_relative_to(root.resolve()):
        raise BuildError(f"the root file system has a path that leaves it: {member.name[:200]}")
    if member.isdir():
        to.mkdir(exist_ok=True)
        to.chmod((member.mode & 0o7777) | 0o700)
    elif member.issym():
        to.symlink_to(member.linkname)
    elif member.islnk():
        os.link(root / clean_path(member.linkname)[1:], to, follow_symlinks=False)
    elif member.isfifo():
        os.mkfifo(to)
        to.chmod((member.mode & 0o7777) | 0o600)
    else:
        source = members.extractfile(member)
        if source is None:
            raise BuildError(f"the root file system's archive is damaged at {member.name[:200]}")
        with to.open("xb") as file:
            shutil.copyfileobj(source, file)
        to.chmod((member.mode & 0o7777) | 0o600)


def _settle_times(nodes: Iterable[Node], root: Path) -> None:
    for node in nodes:
        times = (node.mtime_s, node.mtime_s)
        os.utime(root / node.path[1:], times, follow_symlinks=False)
