# SPDX-License-Identifier: GPL-2.0-or-later
"""What a user names as source, turned into a kernel tree and the identity of its content.

`debian-source:6.1`, a tarball, a git tree or a plain directory. A tree of the user's is only
read. What was fetched or unpacked lives in the cache, each under its own identity.
"""

from __future__ import annotations

import hashlib
import os
import re
import tarfile
from dataclasses import dataclass
from pathlib import Path

from lsmeter.errors import InfrastructureError, UsageError
from lsmeter.kernels.build import gittree
from lsmeter.kernels.build.debian import PREFIX, fetch_debian_source
from lsmeter.kernels.digest import sha256_of
from lsmeter.progress import Progress
from lsmeter.storage import cache_dir, locked, make_dir, new_entry

_TARBALL = re.compile(r".+\.(tar|tar\.(gz|xz|bz2)|tgz|txz)")
_MAX_TARBALL_MEMBERS = 500_000
_MAX_TARBALL_BYTES = 8 << 30  # a kernel unpacks to about 1.5 GB
_VERSION_LINE = re.compile(r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION) *= *(\S*)$", re.M)
_MAKEFILE_HEAD_CHARS = 4096


@dataclass(frozen=True)
class SourceTree:
    """A kernel tree to build from.

    label names it in the names of kernels. identity changes whenever its content does.
    files holds the only files that belong to it (relative), None when all do. is_users says that
    it is not ours, so it may change at any time.
    """

    label: str
    path: Path
    identity: str
    release: str  # as the tree's Makefile says it
    origin: str  # one line for people
    files: tuple[str, ...] | None = None
    is_users: bool = False


def identify_again(source: SourceTree) -> str:
    """Return the identity that a user's tree has now."""
    again = _git if gittree.is_git(source.path) else _directory
    return again(source.path).identity


def resolve_source(
    text: str, *, progress: Progress, offline: bool = False, refresh: bool = False
) -> SourceTree:
    """Return the tree that `text` names, fetched or unpacked when that has not been done yet.

    offline: use only what is cached. refresh: look for a newer patch of a series now.
    """
    if text.startswith(PREFIX):
        return _debian(text, progress, offline=offline, refresh=refresh)
    path = Path(text).expanduser().absolute()
    if path.is_dir():
        return _git(path) if gittree.is_git(path) else _directory(path)
    if path.is_file() and _TARBALL.fullmatch(path.name):
        return _tarball(path, progress)
    what = "is neither a directory nor a tarball" if path.exists() else "does not exist"
    raise UsageError(
        f"kernel source '{text}' {what}",
        hint="give debian-source:6.1, a .tar.xz of a kernel, or the directory of a kernel tree",
    )


def _debian(text: str, progress: Progress, *, offline: bool, refresh: bool) -> SourceTree:
    series = text.removeprefix(PREFIX)
    package = fetch_debian_source(series, progress=progress, offline=offline, refresh=refresh)
    tree = _unpacked(package.tarball, f"debian-{package.version}", progress)
    return SourceTree(
        label=series,
        path=tree,
        identity=f"debian-source {package.version}",
        release=kernel_release(tree),
        origin=f"Debian source {package.name} {package.version}",
    )


def _tarball(path: Path, progress: Progress) -> SourceTree:
    digest = sha256_of(path)
    tree = _unpacked(path, f"tar-{digest[:16]}", progress)
    release = kernel_release(tree)
    return SourceTree(
        label=f"{release}-t{digest[:8]}",
        path=tree,
        identity=f"tarball sha256 {digest}",
        release=release,
        origin=f"tarball {path.name} (sha256 {digest[:12]})",
    )


def _git(path: Path) -> SourceTree:
    state = gittree.state(path)
    release = kernel_release(path)
    mark = f"g{state.head[:12]}" + (f"-dirty-{state.changes[:8]}" if state.changes else "")
    return SourceTree(
        label=f"{release}-{mark}",
        path=path,
        identity=f"git {state.head} {state.changes}".rstrip(),
        release=release,
        origin=f"git tree {path.name} at {state.head[:12]}"
        + (" with changes that are not committed" if state.changes else ""),
        files=gittree.files(path) if is_built_in_place(path) else None,
        is_users=True,
    )


def _directory(path: Path) -> SourceTree:
    release = kernel_release(path)
    if is_built_in_place(path):
        raise UsageError(
            f"kernel source {path} has been built in place: its objects would mix with new ones",
            hint=f"run 'make mrproper' in it, or give a clean copy; {path} is never changed here",
        )
    digest = stat_identity(path)
    return SourceTree(
        label=f"{release}-d{digest[:8]}",
        path=path,
        identity=f"directory {digest}",
        release=release,
        origin=f"directory {path.name}",
        is_users=True,
    )


def kernel_release(tree: Path) -> str:
    """Return the version that a tree's Makefile states; raise UsageError if it is no kernel."""
    try:
        with (tree / "Makefile").open(encoding="utf-8", errors="replace") as file:
            head = file.read(_MAKEFILE_HEAD_CHARS)
    except OSError:
        head = ""
    parts: dict[str, str] = dict(_VERSION_LINE.findall(head))
    whole = (tree / "Kconfig").is_file() and (tree / "security" / "Kconfig").is_file()
    if not whole or "VERSION" not in parts or "PATCHLEVEL" not in parts:
        raise UsageError(
            f"{tree} is not a kernel source tree: no kernel Makefile and security/Kconfig in it",
            hint="give the top directory, the one with MAINTAINERS and Kconfig",
        )
    numbers = f"{parts['VERSION']}.{parts['PATCHLEVEL']}"
    if parts.get("SUBLEVEL"):
        numbers += f".{parts['SUBLEVEL']}"
    return numbers + parts.get("EXTRAVERSION", "")


def is_built_in_place(tree: Path) -> bool:
    """Say whether the kernel's Makefile would refuse this tree for a build elsewhere."""
    marks = (".config", "include/config", "arch/x86/include/generated")
    return any((tree / mark).exists() for mark in marks)


def stat_identity(tree: Path) -> str:
    """Hash names, sizes and times of all files: what make itself goes by, in under a second."""
    digest = hashlib.sha256()
    folders = [""]  # relative, with a slash at the end
    while folders:
        folder = folders.pop()
        lines, below = [], []
        with os.scandir(f"{tree}/{folder}") as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != ".git":
                        below.append(f"{folder}{entry.name}/")
                    continue
                status = entry.stat(follow_symlinks=False)
                lines.append(f"{folder}{entry.name}\0{status.st_size}\0{status.st_mtime_ns}\n")
        digest.update("".join(sorted(lines)).encode(errors="surrogateescape"))
        folders += sorted(below)
    return digest.hexdigest()


def _unpacked(tarball: Path, name: str, progress: Progress) -> Path:
    """Return the tree in the cache that `tarball` unpacks to."""
    home = make_dir(cache_dir() / "kernel-source")
    final = home / re.sub(r"[^A-Za-z0-9.+-]", "_", name)
    if final.is_dir():
        return final
    with locked(f"kernel-source-{final.name}"):
        if not final.is_dir():
            with new_entry(final) as partial:
                _extract(tarball, partial, progress)
    return final


def _extract(tarball: Path, target: Path, progress: Progress) -> None:
    """Unpack the one directory that `tarball` holds, with its links kept inside `target`."""
    task = f"unpack {tarball.name}"
    total = tarball.stat().st_size
    members = unpacked_bytes = 0
    try:
        with tarball.open("rb") as raw, tarfile.open(fileobj=raw, mode="r:*") as archive:
            for member in archive:
                members += 1
                unpacked_bytes += member.size
                if members > _MAX_TARBALL_MEMBERS or unpacked_bytes > _MAX_TARBALL_BYTES:
                    raise UsageError(f"{tarball} is too large for a kernel's source")
                if stripped := _below_top(member):
                    archive.extract(stripped, target, filter="data")
                if members % 500 == 0:
                    progress.update(task, raw.tell(), total, unit="B")
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise InfrastructureError(
            f"cannot unpack {tarball}: {error}", hint="fetch it again; it may be cut short"
        ) from error
    finally:
        progress.finish(task)
    kernel_release(target)


def _below_top(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Return the member without the archive's top directory; None for that directory itself."""
    _, _, rest = member.name.removeprefix("./").partition("/")
    if not rest:
        return None
    if member.islnk():
        _, _, link = member.linkname.removeprefix("./").partition("/")
        return member.replace(name=rest, linkname=link, deep=False)
    return member.replace(name=rest, deep=False)
