# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's cloud kernels by series: debian:6.1 is the newest 6.1 that the archive has."""

from __future__ import annotations

import re
import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path

from lsmeter.core.entries import new_entry, read_facts, write_facts
from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.model import Kernel
from lsmeter.core.model.arch import GUEST
from lsmeter.core.progress import shown
from lsmeter.core.registry import nearest
from lsmeter.core.storage import locked, make_dir
from lsmeter.sources.kernels import apt, package
from lsmeter.sources.kernels.entry import KERNELS, fill_from_packages, load, loaded
from lsmeter.sources.kernels.resolve import (
    ANY,
    KernelListing,
    KernelSource,
    Request,
    not_cached,
    not_fetched,
)

_SPEC = re.compile(r"^debian:\d{1,3}\.\d{1,4}$")
_IMAGE = re.compile(rf"^linux-image-(?P<abi>\d\S*-cloud-{GUEST.debian})$")
_SERIES = re.compile(r"^(\d+\.\d+)[.~+-]")
_JUST_NOW_S = 3600.0


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

    def resolve(self, spec: str, request: Request) -> Kernel:
        """Return the newest kernel of the series, asking once a day, or at once for `refresh`."""
        if not _SPEC.match(spec):
            raise UsageError(
                f"malformed kernel name '{spec}'{nearest(spec, self.examples)}",
                hint="give a series with two numbers, as debian:6.1",
            )
        if request.offline:
            return _only_cached(spec, request)
        if not request.refresh and (kernel := _cached(spec, request.modules, fresh=True)):
            return kernel
        with locked(_slug(spec)):
            # Another process may have fetched it while this one waited.
            kernel = None if request.refresh else _cached(spec, request.modules, fresh=True)
            return kernel or _renew(spec, request)

    def listing(self) -> tuple[KernelListing, ...]:
        """Return the examples and every series that is cached."""
        kept = sorted(path.name for path in KERNELS.home.glob("debian-*.latest.json"))
        names = [name.removesuffix(".latest.json").replace("-", ":", 1) for name in kept]
        found = []
        for name in dict.fromkeys((*self.examples, *names)):
            latest = _read_latest(name)
            cached = latest is not None and (KERNELS.home / latest.entry).is_dir()
            version = latest.version if latest and cached else ""
            found.append(KernelListing(name, self.title, cached, version))
        return tuple(found)

    def offered(self, series: str, request: Request = ANY) -> tuple[str, ...]:
        """Return what the archive has, up to the series; InfrastructureError if it is not there."""
        found: dict[str, None] = {}
        for state, _ in apt.states(request.progress):
            found |= dict.fromkeys(f"debian:{name}" for name in _images(state))
            if f"debian:{series}" in found:
                break
        return tuple(found)


def _slug(spec: str) -> str:
    return spec.replace(":", "-")


def _latest_path(spec: str) -> Path:
    return KERNELS.home / f"{_slug(spec)}.latest.json"


def _read_latest(spec: str) -> _Latest | None:
    latest = read_facts(_latest_path(spec), _Latest)
    return latest if latest and Path(latest.entry).name == latest.entry else None


def _cached(spec: str, modules: tuple[str, ...], *, fresh: bool) -> Kernel | None:
    """Return the cached kernel; with `fresh` only if the archive was asked within a day."""
    latest = _read_latest(spec)
    if latest is None or (fresh and not 0 <= time.time() - latest.asked_s < apt.DAY_S):
        return None
    kernel = load(KERNELS.home / latest.entry, spec, modules)
    return replace(kernel, origin=kernel.origin + latest.notice) if kernel else None


def _only_cached(spec: str, request: Request) -> Kernel:
    kernel = _cached(spec, request.modules, fresh=False)
    if kernel is None:
        without = " with all the modules asked for" if _cached(spec, (), fresh=False) else ""
        raise not_cached(f"kernel {spec}{without}")
    return kernel


def _renew(spec: str, request: Request) -> Kernel:
    """Ask the archive and fetch what is newer; fall back on the cache if that fails."""
    try:
        latest = _fetch(spec, request)
    except InfrastructureError as error:
        before = _read_latest(spec)
        if before is None or _cached(spec, request.modules, fresh=False) is None:
            raise not_fetched(f"kernel {spec}", error) from error
        notice = f"; update check failed ({error.title})"
        latest = replace(before, asked_s=time.time(), notice=notice)
    write_facts(_latest_path(spec), latest)
    kernel = loaded(KERNELS.home / latest.entry, spec, request.modules)
    return replace(kernel, origin=kernel.origin + latest.notice)


def _fetch(spec: str, request: Request) -> _Latest:
    state, packages, fresh = _find(spec, request)
    best, progress = packages[0], request.progress
    home = KERNELS.home / f"{_slug(spec)}-{best.version.replace(':', '%3a')}"
    if load(home, spec, request.modules) is None:
        with new_entry(home) as new:
            debs_dir = make_dir(new / "debs")
            debs = package.fetch(state, packages, debs_dir, progress)
            suite = package.suite_of(state, best)
            origin = f"Debian package {best.name} {best.version}"
            origin += f" from {suite}" if suite else ""
            with shown(progress, f"unpack {spec}"):
                fill_from_packages(new, debs, origin, request.modules)
            shutil.rmtree(debs_dir)
    notice = "" if fresh else "; update check failed (no network)"
    return _Latest(home.name, best.version, time.time(), notice)


def _find(spec: str, request: Request) -> tuple[apt.AptState, tuple[package.Package, ...], bool]:
    """Return a state, the newest packages of the series, the image first, and if it is fresh."""
    series = spec.partition(":")[2]
    seen: set[str] = set()
    # Lists of this morning may lack what is new: look into fresh ones before giving up.
    for older_than_s in (0.0,) if request.refresh else (apt.DAY_S, _JUST_NOW_S):
        for state, fresh in apt.states(request.progress, older_than_s):
            images = _images(state)
            seen |= set(images)
            best = package.newest(images.get(series, ()))
            if best:
                return state, (best, *_parts(state, best)), fresh
    by_number = sorted(seen, key=lambda name: [int(part) for part in name.split(".")])
    known = [f"debian:{name}" for name in by_number]
    raise UsageError(
        f"kernel {spec} is not in Debian's archive{nearest(spec, known)}",
        hint=f"the archive has {', '.join(known) or f'none for {GUEST.debian}'}",
    )


def _images(state: apt.AptState) -> dict[str, list[package.Package]]:
    """Return the image packages that a state has, by series."""
    names = state.ask("pkgnames", "linux-image-").split()
    found: dict[str, list[package.Package]] = {}
    for item in package.packages(state, sorted(name for name in names if _IMAGE.match(name))):
        series = _SERIES.match(item.version)
        # A package that only depends on the image of another name stands for that one.
        is_meta = any(_IMAGE.match(name) for name, _ in item.depends)
        if series and not is_meta and item.architecture == GUEST.debian:
            found.setdefault(series[1], []).append(item)
    return found


def _parts(state: apt.AptState, image: package.Package) -> tuple[package.Package, ...]:
    """Return the packages that the files of `image` are in since Linux 7, where it is empty."""
    match = _IMAGE.match(image.name)
    abi = match["abi"] if match else ""
    wanted = dict(item for item in image.depends if item[0].endswith(f"-{abi}"))
    return tuple(
        item
        for item in package.packages(state, wanted)
        if item.version == (wanted[item.name] or image.version)
    )


SOURCE = DebianSource()
