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

from lsmeter.core import process
from lsmeter.core.archives import BROKEN, BoundedMember, check_end, is_of_disk
from lsmeter.core.entries import new_entry
from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.model.arch import ARCHES
from lsmeter.core.progress import Progress, shown
from lsmeter.core.storage import cache_dir, known_sha256, locked
from lsmeter.sources.kernels import apt, package
from lsmeter.sources.kernels.resolve import ANY, Request, not_cached, not_fetched

PREFIX = "debian-source:"
_SERIES = re.compile(r"[1-9][0-9]?\.[0-9]{1,2}")
_TARBALL = re.compile(r".+\.(tar|tar\.(gz|xz|bz2)|tgz|txz)")
_MAX_TARBALL_MEMBERS = 500_000
_MAX_TARBALL_BYTES = 8 << 30  # a kernel unpacks to about 1.5 GB
_MAX_UNTRACKED_BYTES = 64 << 20
_VERSION_LINE = re.compile(r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION) *= *(\S*)$", re.M)
_MAKEFILE_HEAD_CHARS = 4096


@dataclass(frozen=True)
class SourceTree:
    """A kernel tree to build from."""

    label: str  # in the names of kernels
    path: Path
    identity: str  # changes whenever its content does
    origin: str  # one line for people
    files: tuple[str, ...] | None = None  # the only ones that belong to it (relative); None: all
    is_users: bool = False  # not ours, so it may change at any time


def resolve_source(text: str, request: Request = ANY) -> SourceTree:
    """Return the tree that `text` names, fetched or unpacked when that has not been done yet."""
    if text.startswith(PREFIX):
        series = text.removeprefix(PREFIX)
        version, tarball = fetch_debian_source(series, request)
        tree = _unpacked(tarball, f"debian-{version}", request.progress)
        origin = f"Debian source linux-source-{series} {version}"
        return SourceTree(series, tree, f"debian-source {version}", origin)
    path = Path(text).expanduser().absolute()
    if path.is_dir():
        return _users_tree(path)
    if path.is_file() and _TARBALL.fullmatch(path.name) and tarfile.is_tarfile(path):
        digest = known_sha256(path)
        tree = _unpacked(path, f"tar-{digest[:16]}", request.progress)
        label = f"{kernel_release(tree)}-t{digest[:8]}"
        origin = f"tarball {path.name} (sha256 {digest[:12]})"
        return SourceTree(label, tree, f"tarball sha256 {digest}", origin)
    what = "is neither a directory nor a tarball" if path.exists() else "does not exist"
    raise UsageError(
        f"kernel source '{text}' {what}",
        hint="give debian-source:6.1, a .tar.xz of a kernel, or the directory of a kernel tree",
    )


def _users_tree(path: Path) -> SourceTree:
    """Describe a tree of the user's: by what git says, or by names, sizes and times."""
    release = kernel_release(path)
    generated = (f"arch/{arch.tree}/include/generated" for arch in ARCHES.values())
    marks = (".config", "include/config", *generated)
    built_in_place = any((path / mark).exists() for mark in marks)  # as the kernel's make sees it
    files = None
    if (path / ".git").exists():  # a file in a linked work tree
        head, changes = _git_state(path)
        label = f"g{head[:12]}" + (f"-dirty-{changes[:8]}" if changes else "")
        identity = f"git {head} {changes}".rstrip()
        origin = f"git tree {path.name} at {head[:12]}"
        origin += " with changes that are not committed" if changes else ""
        # Without what a build left in it.
        files = _git_files(path, "--cached") if built_in_place else None
    elif built_in_place:
        raise UsageError(
            f"kernel source {path} has been built in place: its objects would mix with new ones",
            hint=f"run 'make mrproper' in it, or give a clean copy; {path} is never changed here",
        )
    else:
        digest = stat_identity(path)
        label, identity, origin = f"d{digest[:8]}", f"directory {digest}", f"directory {path.name}"
    return SourceTree(f"{release}-{label}", path, identity, origin, files, is_users=True)


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
    sublevel = f".{parts['SUBLEVEL']}" if parts.get("SUBLEVEL") else ""
    return f"{parts['VERSION']}.{parts['PATCHLEVEL']}{sublevel}{parts.get('EXTRAVERSION', '')}"


def stat_identity(tree: Path) -> str:
    """Hash names, sizes and times of all files: what make itself goes by, in under a second."""
    digest = hashlib.sha256()
    folders = [""]  # relative, with a slash at the end
    while folders:
        folder = folders.pop()
        lines, below = [], []
        for entry in os.scandir(f"{tree}/{folder}"):
            if not entry.is_dir(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                lines.append(f"{folder}{entry.name}\0{status.st_size}\0{status.st_mtime_ns}\n")
            elif entry.name != ".git":
                below.append(f"{folder}{entry.name}/")
        digest.update("".join(sorted(lines)).encode(errors="surrogateescape"))
        folders += sorted(below)
    return digest.hexdigest()


def _git_state(tree: Path) -> tuple[str, str]:
    """Return the commit, and a hash of tracked and new files that differ from it, "" for none."""
    head = _git(tree, "rev-parse", "HEAD").decode().strip()
    difference = _git(tree, "diff", "--no-ext-diff", "--no-textconv", "--binary", "HEAD")
    new = _git_files(tree)
    if not difference and not new:
        return head, ""
    digest = hashlib.sha256(difference)
    for name in new:
        path, content = tree / name, b""
        if path.is_symlink():
            content = os.fsencode(path.readlink())
        elif path.is_file():
            if path.stat().st_size > _MAX_UNTRACKED_BYTES:
                raise UsageError(
                    f"{path} is new in the kernel tree and larger than "
                    f"{_MAX_UNTRACKED_BYTES >> 20} MiB",
                    hint="commit it, or have git ignore it (.git/info/exclude)",
                )
            content = path.read_bytes()
        digest.update(b"\0" + os.fsencode(name) + b"\0" + content)
    return head, digest.hexdigest()


def _git_files(tree: Path, *more: str) -> tuple[str, ...]:
    """Return the files that are new and not ignored; with --cached the tracked ones as well."""
    found = _git(tree, "ls-files", "-z", "--others", "--exclude-standard", *more).split(b"\0")
    names = sorted(set(found) - {b""})
    return tuple(name for name in map(os.fsdecode, names) if os.path.lexists(tree / name))


def _git(tree: Path, *words: str) -> bytes:
    done = process.run_bytes(process.git(tree, *words))
    if done.returncode:
        raise UsageError(
            f"git {words[0]} fails in {tree}",
            hint="the tree needs at least one commit; see what git says",
            log_tail=tuple(done.stderr.decode(errors="replace").splitlines()[-5:]),
        )
    return done.stdout


def fetch_debian_source(series: str, request: Request = ANY) -> tuple[str, Path]:
    """Return version and tarball (Debian's patches applied) of the series' newest source package.

    A kernel must not change under someone who compares two builds: once fetched it stays until
    a refresh is asked for.
    """
    if not _SERIES.fullmatch(series):
        raise UsageError(
            f"'{PREFIX}{series[:40]}' names no series of kernels",
            hint="give it as two numbers: debian-source:6.1, debian-source:6.12",
        )
    home = cache_dir() / "kernel-source" / f"deb-{series}"
    with locked(f"kernel-source-deb-{series}"):
        cached = None if request.refresh else _cached(home)
        if cached is None and request.offline:
            raise not_cached(f"the source of {series}")
        if cached is None:
            try:
                _fetch(f"linux-source-{series}", home, request.progress)
            except InfrastructureError as error:
                raise not_fetched(f"the source of {series}", error) from error
            cached = _cached(home)
    if cached is None:
        raise InfrastructureError(f"linux-source-{series} has no tarball of the source in it")
    return cached


def _cached(home: Path) -> tuple[str, Path] | None:
    tarballs = sorted(home.rglob("linux-source-*.tar.xz"))
    version = home / "version"
    return (version.read_text().strip(), tarballs[0]) if tarballs and version.is_file() else None


def _fetch(name: str, home: Path, progress: Progress) -> None:
    """Fetch the newest package of this name in the first group of suites that has one."""
    for state, _ in apt.states(progress):
        best = package.newest(package.packages(state, [name]))
        if best is not None:
            break
    else:
        raise UsageError(
            f"Debian's archive has no {name}",
            hint="use a series that is in a suite now (debian-source:6.1), a tarball or a git tree",
        )
    with new_entry(home) as partial:
        for deb in package.fetch(state, [best], partial, progress):
            package.extract(deb, partial, lambda path: path.endswith(".tar.xz"))
            deb.unlink()
        (partial / "version").write_text(best.version)


def _unpacked(tarball: Path, name: str, progress: Progress) -> Path:
    """Return the tree in the cache that `tarball` unpacks to."""
    final = cache_dir() / "kernel-source" / re.sub(r"[^A-Za-z0-9.+-]", "_", name)
    with locked(f"kernel-source-{final.name}"):
        if not final.is_dir():
            with new_entry(final) as partial:
                _extract(tarball, partial, progress)
    return final


def _extract(tarball: Path, target: Path, progress: Progress) -> None:
    """Unpack the one directory that `tarball` holds, with its links kept inside `target`."""
    size_bytes, unpacked_bytes = tarball.stat().st_size, 0
    try:
        with (
            shown(progress, f"unpack {tarball.name}", size_bytes, "B") as show,
            tarball.open("rb") as raw,
            tarfile.open(fileobj=raw, mode="r:*", tarinfo=BoundedMember) as archive,
        ):
            for number, member in enumerate(archive):
                unpacked_bytes += member.size
                if number > _MAX_TARBALL_MEMBERS or unpacked_bytes > _MAX_TARBALL_BYTES:
                    raise UsageError(f"{tarball} is too large for a kernel's source")
                # The archive's top directory is left out.
                name = _below_top(member.name)
                link = _below_top(member.linkname) if member.islnk() else member.linkname
                if name:
                    stripped = member.replace(name=name, linkname=link, deep=False)
                    archive.extract(stripped, target, filter="data")
                if number % 500 == 0:
                    show(raw.tell())
            check_end(archive)
    except BROKEN as error:
        if is_of_disk(error):
            raise
        raise InfrastructureError(
            f"cannot unpack {tarball}: {error or 'it is damaged'}",
            hint="fetch it again; it may be cut short",
        ) from error
    kernel_release(target)


def _below_top(name: str) -> str:
    return name.removeprefix("./").partition("/")[2]
