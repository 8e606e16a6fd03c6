# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's cloud kernels by series: debian:6.1 is the newest 6.1 that the archive has."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from lsmeter.errors import InfrastructureError, UsageError
from lsmeter.kernels import apt, entry
from lsmeter.kernels.apt_state import GROUPS, AptState, open_state, unreached
from lsmeter.kernels.source import DEFAULT_MODULES, KernelListing, KernelSource
from lsmeter.kernels.unpack import fill_from_packages, loaded
from lsmeter.model import Kernel
from lsmeter.progress import Progress
from lsmeter.registry import nearest
from lsmeter.storage import locked, new_entry, write_atomic

_SPEC = re.compile(r"^debian:\d{1,3}\.\d{1,4}$")
_IMAGE = re.compile(r"^linux-image-(?P<abi>\d\S*-cloud-amd64)$")
_SERIES = re.compile(r"^(\d+\.\d+)[.~+-]")
_LOOK_EVERY_S = 86400.0
_JUST_NOW_S = 3600.0


@dataclass(frozen=True)
class _Found:
    """A kernel in the archive: its packages, the one that is named first."""

    state: AptState
    packages: tuple[apt.Package, ...]
    fresh: bool  # the lists are no older than a day


@dataclass(frozen=True)
class _Latest:
    """Which cache entry a series stands for, and when the archive was last asked."""

    entry: str
    version: str
    asked_s: float  # seconds since the epoch
    notice: str = ""  # why that did not work


class DebianSource(KernelSource):
    """The cloud kernels of Debian's archive, fetched as packages and never installed."""

    name = "debian"
    title = "Debian's cloud kernel of a series, the newest release in the archive"
    examples = ("debian:6.1", "debian:6.12", "debian:7.2")

    def matches(self, spec: str) -> bool:
        """Take `debian` and all that begins with `debian:`."""
        return spec == "debian" or spec.startswith("debian:")

    def resolve(
        self,
        spec: str,
        *,
        progress: Progress,
        offline: bool = False,
        refresh: bool = False,
        modules: tuple[str, ...] = DEFAULT_MODULES,
    ) -> Kernel:
        """Return the newest kernel of the series, from the cache where it is known.

        The archive is asked for a newer release at most once a day, and at once with
        `refresh`. When it cannot be reached the cached kernel is used, and its origin says so.
        """
        if not _SPEC.match(spec):
            raise UsageError(
                f"malformed kernel name '{spec}'{nearest(spec, self.examples)}",
                hint="give a series with two numbers, as debian:6.1",
            )
        if offline:
            return _only_cached(spec, modules)
        kernel = None if refresh else _cached(spec, modules, fresh=True)
        if kernel is None:
            with locked(_slug(spec)):
                # Another process may have fetched it while this one waited.
                kernel = None if refresh else _cached(spec, modules, fresh=True)
                kernel = kernel or _renew(spec, modules, progress, refresh=refresh)
        return kernel

    def listing(self) -> tuple[KernelListing, ...]:
        """Return the examples and every series that is cached."""
        names = dict.fromkeys(self.examples)
        for path in sorted(entry.kernels_dir().glob("debian-*.latest.json")):
            names[path.name.removesuffix(".latest.json").replace("-", ":", 1)] = None
        listings = []
        for name in names:
            latest = _read_latest(name)
            here = latest is not None and (entry.kernels_dir() / latest.entry).is_dir()
            version = latest.version if latest and here else ""
            listings.append(KernelListing(name, self.title, cached=here, version=version))
        return tuple(listings)


def _slug(spec: str) -> str:
    return spec.replace(":", "-")


def _latest_path(spec: str) -> Path:
    return entry.kernels_dir() / f"{_slug(spec)}.latest.json"


def _read_latest(spec: str) -> _Latest | None:
    with suppress(OSError, ValueError, TypeError):
        said = json.loads(_latest_path(spec).read_text())
        latest = _Latest(**said)
        if Path(latest.entry).name == latest.entry and isinstance(latest.asked_s, float):
            return latest
    return None


def _write_latest(spec: str, latest: _Latest) -> None:
    write_atomic(_latest_path(spec), json.dumps(vars(latest)).encode())


def _cached(spec: str, modules: tuple[str, ...], *, fresh: bool) -> Kernel | None:
    """Return the cached kernel; with `fresh` only if the archive was asked within a day."""
    latest = _read_latest(spec)
    if latest is None or (fresh and not 0 <= time.time() - latest.asked_s < _LOOK_EVERY_S):
        return None
    kernel = entry.load(entry.kernels_dir() / latest.entry, spec, modules)
    return replace(kernel, origin=kernel.origin + latest.notice) if kernel else None


def _only_cached(spec: str, modules: tuple[str, ...]) -> Kernel:
    kernel = _cached(spec, modules, fresh=False)
    if kernel is None:
        without = " with all the modules asked for" if _cached(spec, (), fresh=False) else ""
        raise InfrastructureError(
            f"kernel {spec}{without} is not cached, and the network is not to be used",
            hint="allow the network once; after that the cache is enough",
        )
    return kernel


def _renew(spec: str, modules: tuple[str, ...], progress: Progress, *, refresh: bool) -> Kernel:
    """Ask the archive and fetch what is newer; fall back on the cache if that fails."""
    try:
        latest = _fetch(spec, modules, progress, refresh=refresh)
    except InfrastructureError as error:
        latest_cached = _read_latest(spec)
        if latest_cached is None or _cached(spec, modules, fresh=False) is None:
            raise InfrastructureError(
                f"kernel {spec} is not cached and cannot be fetched: {error.title}",
                hint=error.hint,
                log_tail=error.log_tail,
            ) from error
        notice = f"; no newer one could be looked for ({error.title})"
        latest = replace(latest_cached, asked_s=time.time(), notice=notice)
    _write_latest(spec, latest)
    return loaded(_cached(spec, modules, fresh=False), entry.kernels_dir() / latest.entry)


def _fetch(spec: str, modules: tuple[str, ...], progress: Progress, *, refresh: bool) -> _Latest:
    found = _find(spec, progress, refresh=refresh)
    version = found.packages[0].version
    home = entry.kernels_dir() / f"{_slug(spec)}-{version.replace(':', '%3a')}"
    if entry.load(home, spec, modules) is None:
        with new_entry(home) as new:
            debs_dir = new / "debs"
            debs_dir.mkdir()
            debs = apt.fetch(found.state, found.packages, debs_dir, progress)
            suite = apt.suite_of(found.state, found.packages[0])
            origin = f"Debian package {found.packages[0].name} {version}"
            origin += f" from {suite}" if suite else ""
            task = f"unpack {spec}"
            progress.update(task, 0, None)
            try:
                fill_from_packages(new, debs, origin=origin, modules=modules)
            finally:
                progress.finish(task)
            for deb in debs:
                deb.unlink()
            debs_dir.rmdir()
    notice = "" if found.fresh else "; no newer one could be looked for (no network)"
    return _Latest(home.name, version, time.time(), notice)


def _find(spec: str, progress: Progress, *, refresh: bool) -> _Found:
    """Find the newest kernel of the series in the first group of suites that has one."""
    series = spec.partition(":")[2]
    seen: set[str] = set()
    # Lists of this morning may lack what is new: look into fresh ones before giving up.
    for older_than_s in (0.0,) if refresh else (_LOOK_EVERY_S, _JUST_NOW_S):
        for state, fresh in _states(older_than_s, progress):
            images = _images(state)
            seen |= set(images)
            best = apt.newest(images.get(series, ()))
            if best:
                return _Found(state, (best, *_parts(state, best)), fresh)
    known = [f"debian:{name}" for name in sorted(seen, key=_numbers)]
    raise UsageError(
        f"kernel {spec} is not in Debian's archive{nearest(spec, known)}",
        hint=f"the archive has {', '.join(known) or 'none for amd64'}",
    )


def _states(older_than_s: float, progress: Progress) -> Iterator[tuple[AptState, bool]]:
    for group in GROUPS:
        state = open_state(group)
        if state is None:
            continue
        try:
            yield state, state.update(progress, older_than_s=older_than_s)
        except InfrastructureError as error:
            # A mirror need not have every suite; no network at all is another matter.
            if not error.log_tail or any(unreached(line) for line in error.log_tail):
                raise


def _images(state: AptState) -> dict[str, list[apt.Package]]:
    """Return the image packages that a state has, by series."""
    names = [name for name in apt.package_names(state, "linux-image-") if _IMAGE.match(name)]
    found: dict[str, list[apt.Package]] = {}
    for package in apt.packages(state, names):
        series = _SERIES.match(package.version)
        # A package that only depends on the image of another name stands for that one.
        is_meta = any(_IMAGE.match(name) for name, _ in package.depends)
        if series and not is_meta and package.architecture == "amd64":
            found.setdefault(series[1], []).append(package)
    return found


def _parts(state: AptState, image: apt.Package) -> tuple[apt.Package, ...]:
    """Return the packages that the files of `image` are in since Linux 7, where it is empty."""
    match = _IMAGE.match(image.name)
    abi = match["abi"] if match else ""
    wanted = dict(item for item in image.depends if item[0].endswith(f"-{abi}"))
    return tuple(
        package
        for package in apt.packages(state, wanted)
        if package.version == (wanted[package.name] or image.version)
    )


def _numbers(series: str) -> tuple[int, ...]:
    return tuple(int(part) for part in series.split("."))


SOURCE = DebianSource()
