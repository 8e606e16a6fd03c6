# SPDX-License-Identifier: GPL-2.0-or-later
"""Fetches Debian's kernel source packages: the tree with Debian's patches already applied."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from lsmeter.errors import InfrastructureError, UsageError
from lsmeter.kernels import apt
from lsmeter.kernels import package as deb_package
from lsmeter.kernels.apt_state import GROUPS, AptState, open_state, unreached
from lsmeter.progress import Progress
from lsmeter.storage import cache_dir, locked, new_entry

PREFIX = "debian-source:"
_SERIES = re.compile(r"[1-9][0-9]?\.[0-9]{1,2}")


@dataclass(frozen=True)
class DebianSource:
    """A fetched source package: linux-source-6.1, its version and the tarball in it."""

    name: str
    version: str
    tarball: Path


def check_series(series: str) -> str:
    """Return `series` (6.1); raise UsageError if it is none."""
    if not _SERIES.fullmatch(series):
        raise UsageError(
            f"'{PREFIX}{series[:40]}' names no series of kernels",
            hint="give it as two numbers: debian-source:6.1, debian-source:6.12",
        )
    return series


def fetch_debian_source(
    series: str, *, progress: Progress, offline: bool = False, refresh: bool = False
) -> DebianSource:
    """Return the newest source package of the series; once fetched it stays until `refresh`.

    A kernel must not change under someone who compares two builds, so the archive is asked for
    a newer patch only with `refresh`. offline: use only what is cached.
    """
    home = cache_dir() / "kernel-source" / f"deb-{check_series(series)}"
    with locked(f"kernel-source-deb-{series}"):
        cached = None if refresh else _cached(home, series)
        if cached is None and offline:
            raise InfrastructureError(
                f"the source of {series} is not cached, and the network is not to be used",
                hint="allow the network once; after that the cache is enough",
            )
        if cached is None:
            _fetch(series, home, progress)
    cached = cached or _cached(home, series)
    if cached is None:
        raise InfrastructureError(f"linux-source-{series} has no tarball of the source in it")
    return cached


def _cached(home: Path, series: str) -> DebianSource | None:
    tarballs = sorted(home.rglob("linux-source-*.tar.xz"))
    version = home / "version"
    if not tarballs or not version.is_file():
        return None
    return DebianSource(f"linux-source-{series}", version.read_text().strip(), tarballs[0])


def _fetch(series: str, home: Path, progress: Progress) -> None:
    state, package = _find(f"linux-source-{series}", progress)
    with new_entry(home) as partial:
        for deb in apt.fetch(state, [package], partial, progress):
            deb_package.extract(deb, partial, lambda path: path.endswith(".tar.xz"))
            deb.unlink()
        (partial / "version").write_text(package.version)


def _find(name: str, progress: Progress) -> tuple[AptState, apt.Package]:
    """Find the newest package in the first group of suites that has one."""
    for group in GROUPS:
        state = open_state(group)
        if state is None:
            continue
        try:
            state.update(progress)
        except InfrastructureError as error:
            # A mirror need not have every suite; no network at all is another matter.
            if not error.log_tail or any(unreached(line) for line in error.log_tail):
                raise
            continue
        if package := apt.newest(apt.packages(state, [name])):
            return state, package
    raise UsageError(
        f"Debian's archive has no {name}",
        hint="use a series that is in a suite now (debian-source:6.1), a tarball or a git tree",
    )
