# SPDX-License-Identifier: GPL-2.0-or-later
"""Packages: Debian's found in the archive and fetched; opened, also RPMs; none is installed or run.

dpkg-deb unpacks as a stream, and bsdtar (libarchive) does an RPM. python-debian's debfile is no
help: it holds the whole of a package packed with zstd in memory, however large that gets.
"""

from __future__ import annotations

import io
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from debian.deb822 import Packages
from debian.debian_support import Version

from lsmeter.core import process
from lsmeter.core.archives import BoundedMember
from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.printable import printable
from lsmeter.core.progress import Progress, shown
from lsmeter.core.storage import make_dir, sha256_of, writing
from lsmeter.sources.kernels import apt

_MOST_FILE_BYTES = 512 << 20  # a kernel's largest file is its image, tens of MiB
_MOST_ALL_BYTES = 2 << 30
_PIECE_BYTES = 1 << 20
_SAID_CHARS = 65536
_SILENCE_S = 300.0
_DEB = b"!<arch>\ndebian-binary"
# The lead of an RPM (rpm's lib/rpmlead.c): its magic, and 66 bytes of name from the tenth on.
_RPM = b"\xed\xab\xee\xdb"
_NAME = slice(10, 76)
RPM_CORE = "kernel-core"
_RPM_PARTS = ("kernel-modules-core", "kernel-modules")


@dataclass(frozen=True)
class Package:
    """One version of a binary package, as the archive's signed index describes it."""

    name: str
    version: str
    architecture: str
    depends: tuple[tuple[str, str], ...]  # name and the exact version asked for, or ""
    size_bytes: int
    sha256: str


def parse_packages(text: str) -> tuple[Package, ...]:
    """Read stanzas of a Packages index; those without a name, version or hash are left out."""
    found = []
    for fields in Packages.iter_paragraphs(text.splitlines(), use_apt_pkg=False):
        size = fields.get("Size", "")
        if all(name in fields for name in ("Package", "Version", "SHA256")) and size.isdecimal():
            names = ("pre-depends", "depends")
            asked = [any_of[0] for name in names for any_of in fields.relations[name] or ()]
            found.append(
                Package(
                    name=fields["Package"],
                    version=fields["Version"],
                    architecture=fields.get("Architecture", ""),
                    depends=tuple((item["name"], _exact(item["version"])) for item in asked),
                    size_bytes=int(size),
                    sha256=fields["SHA256"],
                )
            )
    return tuple(dict.fromkeys(found))


def _exact(relation: tuple[str, str] | None) -> str:
    return relation[1] if relation and relation[0] == "=" else ""


def packages(state: apt.AptState, names: Iterable[str]) -> tuple[Package, ...]:
    """Return all versions of the packages `names` that the state's lists have."""
    names = tuple(names)
    return parse_packages(state.ask("show", *names)) if names else ()


def suite_of(state: apt.AptState, package: Package) -> str:
    """Return the suite that has this version (bookworm-security), "" when apt does not tell."""
    for line in state.ask("madison", package.name).splitlines():
        words = [word.strip() for word in line.split("|")]
        if len(words) == 3 and words[1] == package.version and "/" in words[2]:
            return words[2].split()[1].partition("/")[0]
    return ""


def newest(found: Iterable[Package]) -> Package | None:
    """Return the package of the highest version, None when there is none."""
    return max(found, key=lambda package: Version(package.version), default=None)


def fetch(
    state: apt.AptState, wanted: Iterable[Package], into: Path, progress: Progress
) -> dict[Path, str]:
    """Download packages into `into`; return each file with its SHA-256, checked as apt did."""
    wanted = tuple(wanted)
    total_bytes = sum(item.size_bytes for item in wanted)
    names = [f"{item.name}={item.version}" for item in wanted]
    with shown(progress, f"fetch {wanted[0].name}", total_bytes, "B") as show:
        state.download(["download", *names], into, lambda done: show(done * total_bytes // 100))
    files: dict[Path, str] = {}
    for item in wanted:
        version = item.version.replace(":", "%3a")
        path = into / f"{item.name}_{version}_{item.architecture}.deb"
        if not path.is_file() or sha256_of(path) != item.sha256:
            what = "is not what the archive's index says" if path.is_file() else "is missing"
            raise InfrastructureError(f"{path.name} {what}", hint="try again, or another mirror")
        files[path] = item.sha256
    return files


def is_package(path: Path) -> bool:
    """Say whether a file is a Debian package or an RPM."""
    with path.open("rb") as file:
        head = file.read(len(_DEB))
    return head == _DEB or head.startswith(_RPM)


def rpms_beside(path: Path) -> tuple[Path, ...]:
    """Return the package at `path`, and beside an RPM with an image those of its modules."""
    version = path.name.removeprefix(f"{RPM_CORE}-")
    if version == path.name or path.suffix != ".rpm":
        return (path,)
    parts = (path.with_name(f"{part}-{version}") for part in _RPM_PARTS)
    return (path, *(part for part in parts if part.is_file()))


def extract(deb: Path, into: Path, wanted: Callable[[str], bool]) -> tuple[Path, ...]:
    """Extract the regular files of `deb` that `wanted` accepts by their path, all under `into`."""
    words = ["dpkg-deb", "--fsys-tarfile", str(deb)]
    if _is_rpm(deb):
        process.need(["bsdtar"], "apt-get install libarchive-tools")
        words = ["bsdtar", "--format", "pax", "-cf", "-", f"@{deb.absolute()}"]
    env, reason = process.environment(), ""
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        with process.started(words, env=env, errors_to=errors, grace_s=0) as child:
            stream = process.output_of(child, _SILENCE_S)
            try:
                taken = _take(stream, into, wanted)
                while stream.read(_PIECE_BYTES):  # so that dpkg-deb ends by itself
                    pass
            except (tarfile.TarError, EOFError) as error:
                reason = str(error)
        errors.seek(0)
        said = errors.read(_SAID_CHARS)
    if reason or child.returncode:
        raise _damaged(deb, f"{reason}\n{said}")
    return taken


def _take(stream: IO[bytes], into: Path, wanted: Callable[[str], bool]) -> tuple[Path, ...]:
    taken: list[Path] = []
    left = _MOST_ALL_BYTES
    with tarfile.open(fileobj=stream, mode="r|", tarinfo=BoundedMember) as archive:
        for member in archive:
            path = PurePosixPath(member.name)
            inside = path.parts and not path.is_absolute() and ".." not in path.parts
            if not inside or not member.isreg() or not wanted(str(path)):
                continue
            left -= member.size
            if member.size > _MOST_FILE_BYTES or left < 0:
                raise tarfile.TarError(f"{path} is too large for a kernel's file")
            taken.append(into / path)
            make_dir(taken[-1].parent)
            with writing(taken[-1]), taken[-1].open("wb") as file:
                shutil.copyfileobj(archive.extractfile(member) or io.BytesIO(), file)
    return tuple(taken)


def _damaged(deb: Path, said: str) -> UsageError:
    last = said.strip().rpartition("\n")[2]
    return UsageError(f"{deb} is not a whole package: {last}", hint="fetch or copy the file again")


def version_of(path: Path) -> str:
    """Return a package's version: of a Debian package its field, of an RPM its whole name."""
    if _is_rpm(path):
        with path.open("rb") as file:
            lead = file.read(_NAME.stop)[_NAME]
        return printable(lead.partition(b"\0")[0].decode("ascii", "replace"))
    done = process.run(["dpkg-deb", "--field", str(path), "Version"])
    if done.returncode:
        raise _damaged(path, done.stderr)
    return done.stdout.strip()


def _is_rpm(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_RPM)) == _RPM
