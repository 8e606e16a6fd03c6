# SPDX-License-Identifier: GPL-2.0-or-later
"""Unpacks a root file system without root: what a user may not set is recorded instead.

Owners, times, and modes that would keep the builder itself out, are put into the image afterwards
(lsmeter.images.ext4), so that root and an ordinary user build the same. So are SELinux contexts,
which the policy's own tool looks up inside the tree.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lsmeter.base.errors import BuildError
from lsmeter.base.storage import cannot_write

_CAPABILITY = "SCHILY.xattr.security.capability"
_TYPES = {
    tarfile.DIRTYPE: stat.S_IFDIR,
    tarfile.REGTYPE: stat.S_IFREG,
    tarfile.AREGTYPE: stat.S_IFREG,
    tarfile.SYMTYPE: stat.S_IFLNK,
    tarfile.LNKTYPE: stat.S_IFREG,
    tarfile.FIFOTYPE: stat.S_IFIFO,
}
# Where the lookup leaves its answer, in the tree; /tmp is emptied afterwards.
PATHS = "/tmp/lsmeter-paths"  # noqa: S108  (a path in the image)
CONTEXTS = "/tmp/lsmeter-contexts"  # noqa: S108
NONE = "<<none>>"
_CONTEXT = re.compile(r"[!-~]+:[!-~]+:[!-~]+")

# In chunks, as xargs makes them; one context a line, in the order of the paths.
LOOKUP = (
    f"find / -xdev -path /tmp/lsmeter-* -prune -o -print0 > {PATHS} && "
    f"xargs -0 matchpathcon -n < {PATHS} > {CONTEXTS}"
)


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

    What is in /dev is left out: the guest's kernel makes it.
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
    return tuple(nodes.values())


def clean_path(name: str) -> str:
    """Return a member's path from the root; raise BuildError if it is none that is safe."""
    parts = [part for part in PurePosixPath(name).parts if part not in ("/", ".")]
    if ".." in parts or "\0" in name:
        raise _leaves(name)
    return "/" + "/".join(parts)


def _leaves(name: str) -> BuildError:
    return BuildError(f"the root file system has a path that leaves it: {name[:200]}")


def _node(member: tarfile.TarInfo, path: str) -> Node:
    kind = _TYPES.get(member.type)
    if kind is None:
        raise BuildError(f"the root file system has a file of a strange type: {path[:200]}")
    # tarfile gives PAX values as text; bytes that are no UTF-8 come as surrogates.
    capability = member.pax_headers.get(_CAPABILITY, "").encode("utf-8", "surrogateescape")
    mode = kind | (member.mode & 0o7777)
    return Node(path, mode, member.uid, member.gid, int(member.mtime), capability)


def _make(members: tarfile.TarFile, member: tarfile.TarInfo, to: Path, root: Path) -> None:
    if not to.parent.resolve().is_relative_to(root.resolve()):
        raise _leaves(member.name)
    mode = member.mode & 0o7777
    if member.isdir():
        to.mkdir(exist_ok=True)
        to.chmod(mode | 0o700)
    elif member.issym():
        to.symlink_to(member.linkname)
    elif member.islnk():
        os.link(root / clean_path(member.linkname)[1:], to, follow_symlinks=False)
    elif member.isfifo():
        os.mkfifo(to)
        to.chmod(mode | 0o600)
    else:
        source = members.extractfile(member)
        if source is None:
            raise BuildError(f"the root file system's archive is damaged at {member.name[:200]}")
        with to.open("xb") as file:
            shutil.copyfileobj(source, file)
        to.chmod(mode | 0o600)


def labels_of(nodes: Iterable[Node], paths: bytes, contexts: bytes) -> dict[str, str]:
    """Pair nodes with what was looked up: paths, each ended by a zero, and contexts, one a line.

    A file that the policy leaves without a context has none here.
    """
    names = paths.decode("utf-8", "surrogateescape").split("\0")[:-1]
    found = contexts.decode("utf-8", "replace").splitlines()
    if not names or len(names) != len(found):
        raise BuildError(
            f"labels: {len(names)} paths were looked up, {len(found)} contexts came back",
            hint="does the image have matchpathcon (selinux-utils) and a policy?",
        )
    looked_up = dict(zip(names, found, strict=True))
    for name, context in looked_up.items():
        if context != NONE and not _CONTEXT.fullmatch(context):
            raise BuildError(f"labels: '{context[:100]}' for {name[:200]} is no context")
    labels = {node.path: looked_up.get(node.path, "") for node in nodes}
    if unasked := [path for path, context in labels.items() if not context]:
        raise BuildError(f"labels: {unasked[0][:200]} was never looked up")
    return {path: context for path, context in labels.items() if context != NONE}


def listing(labels: dict[str, str]) -> bytes:
    """Write labels as text, one file a line: context, tab, path."""
    lines = (f"{context}\t{path}\n" for path, context in sorted(labels.items()))
    return "".join(lines).encode("utf-8", "surrogateescape")
