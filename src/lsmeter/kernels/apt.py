# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds and fetches packages and their sources through a private apt state."""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from lsmeter.errors import InfrastructureError
from lsmeter.kernels.apt_state import AptState
from lsmeter.kernels.digest import sha256_of
from lsmeter.progress import Progress

_RELATION = re.compile(r"^\s*(?P<name>[a-z0-9][a-z0-9+.-]+)(?::\w+)?\s*(\(=\s*(?P<exact>[^)]+)\))?")
# What apt-cache says, with a failing exit code, when it finds nothing.
_NO_PACKAGE = "No packages found"
_NO_SOURCE = "Unable to locate package|You must put some|Unable to find a source"


@dataclass(frozen=True)
class Package:
    """One version of a binary package, as the archive's signed index describes it."""

    name: str
    version: str
    architecture: str
    depends: tuple[tuple[str, str], ...]  # name and the exact version asked for, or ""
    size_bytes: int
    sha256: str


@dataclass(frozen=True)
class SourcePackage:
    """One version of a source package, as the archive's signed index describes it."""

    name: str
    version: str
    files: tuple[tuple[str, int, str], ...]  # name, bytes, SHA-256


Versioned = TypeVar("Versioned", Package, SourcePackage)


def parse_packages(text: str) -> tuple[Package, ...]:
    """Read stanzas of a Packages index; those without a name, version or hash are left out."""
    found = []
    for fields in _stanzas(text):
        size = fields.get("size", "")
        if {"package", "version", "sha256"} <= fields.keys() and size.isdecimal():
            relations = f"{fields.get('pre-depends', '')},{fields.get('depends', '')}"
            found.append(
                Package(
                    name=fields["package"],
                    version=fields["version"],
                    architecture=fields.get("architecture", ""),
                    depends=_relations(relations),
                    size_bytes=int(size),
                    sha256=fields["sha256"],
                )
            )
    return tuple(dict.fromkeys(found))


def parse_sources(text: str) -> tuple[SourcePackage, ...]:
    """Read stanzas of a Sources index; those without a name, version or hashes are left out."""
    found = []
    for fields in _stanzas(text):
        lines = (line.split() for line in fields.get("checksums-sha256", "").splitlines())
        files = tuple(
            (words[2], int(words[1]), words[0])
            for words in lines
            if len(words) == 3 and words[1].isdecimal()
        )
        if fields.get("package") and fields.get("version") and files:
            found.append(SourcePackage(fields["package"], fields["version"], files))
    return tuple(dict.fromkeys(found))


def _stanzas(text: str) -> Iterable[dict[str, str]]:
    for stanza in re.split(r"\n\s*\n", text):
        fields: dict[str, str] = {}
        key = ""
        for line in stanza.splitlines():
            if line[:1] in (" ", "\t"):
                fields[key] = f"{fields.get(key, '')}\n{line.strip()}"
            elif ":" in line:
                key, _, value = line.partition(":")
                key = key.lower()
                fields[key] = value.strip()
        yield fields


def _relations(text: str) -> tuple[tuple[str, str], ...]:
    matches = (_RELATION.match(part.partition("|")[0]) for part in text.split(","))
    return tuple((m["name"], (m["exact"] or "").strip()) for m in matches if m)


def package_names(state: AptState, prefix: str) -> tuple[str, ...]:
    """Return the names of all packages that begin with `prefix`, sorted."""
    return tuple(sorted(state.output("apt-cache", "pkgnames", prefix).split()))


def packages(state: AptState, names: Iterable[str]) -> tuple[Package, ...]:
    """Return all versions of the packages `names` that the state's lists have."""
    names = tuple(names)
    if not names:
        return ()
    return parse_packages(state.output("apt-cache", "show", *names, absent=_NO_PACKAGE))


def source_packages(state: AptState, name: str) -> tuple[SourcePackage, ...]:
    """Return all versions of the source package `name`; the state must be one of deb-src."""
    text = state.output("apt-cache", "showsrc", "--only-source", name, absent=_NO_SOURCE)
    return tuple(source for source in parse_sources(text) if source.name == name)


def suite_of(state: AptState, package: Package) -> str:
    """Return the suite that has this version (bookworm-security), "" when apt does not tell."""
    for line in state.output("apt-cache", "madison", package.name).splitlines():
        words = [word.strip() for word in line.split("|")]
        if len(words) == 3 and words[1] == package.version and "/" in words[2]:
            return words[2].split()[1].partition("/")[0]
    return ""


def newer(a: str, b: str) -> bool:
    """Say whether version `a` is newer than `b` by Debian's rules (dpkg --compare-versions)."""
    done = subprocess.run(["dpkg", "--compare-versions", a, "gt", b], check=False, timeout=60)
    return done.returncode == 0


def newest(found: Iterable[Versioned]) -> Versioned | None:
    """Return the package (binary or source) of the highest version, None when there is none."""

    def order(a: Versioned, b: Versioned) -> int:
        return newer(a.version, b.version) - newer(b.version, a.version)

    return max(found, key=functools.cmp_to_key(order), default=None)


def fetch(
    state: AptState, wanted: Iterable[Package], into: Path, progress: Progress
) -> dict[Path, str]:
    """Download packages into the directory `into`; return each file with its SHA-256.

    apt verifies them against the signed index; the hashes are checked here once more. Raises
    InfrastructureError when they cannot be had.
    """
    wanted = tuple(wanted)
    arguments = [f"{item.name}={item.version}" for item in wanted]
    total_bytes = sum(item.size_bytes for item in wanted)
    task = f"fetch {wanted[0].name}" if wanted else "fetch"
    state.download(["download", *arguments], into, task, total_bytes, progress)
    files: dict[Path, str] = {}
    for item in wanted:
        version = item.version.replace(":", "%3a")
        path = into / f"{item.name}_{version}_{item.architecture}.deb"
        files[_verified(path, item.sha256)] = item.sha256
    return files


def fetch_source(
    state: AptState, source: SourcePackage, into: Path, progress: Progress
) -> dict[Path, str]:
    """Download a source package's files into `into`; return each file with its SHA-256.

    Nothing is unpacked: `dpkg-source --extract` on the .dsc does that. Raises
    InfrastructureError when they cannot be had.
    """
    state.download(
        ["source", "--download-only", "--only-source", f"{source.name}={source.version}"],
        into,
        f"fetch source of {source.name}",
        sum(size for _, size, _ in source.files),
        progress,
    )
    return {_verified(into / Path(name).name, digest): digest for name, _, digest in source.files}


def _verified(path: Path, digest: str) -> Path:
    if not path.is_file() or sha256_of(path) != digest:
        what = "is not what the archive's index says" if path.is_file() else "was not downloaded"
        raise InfrastructureError(f"{path.name} {what}", hint="try again, or use another mirror")
    return path
