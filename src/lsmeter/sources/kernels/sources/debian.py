# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's cloud kernels: debian:6.1 is the newest 6.1 that the archive has.

debian:6.12.43 is one release, debian:6.12.43-1~bpo12+1 one build of it: suites build a release
anew, under a version of their own. debian:6.12.* is every build of a series.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from debian.debian_support import Version

from lsmeter.core.entries import new_entry, read_facts, write_facts
from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.model import Kernel
from lsmeter.core.model.arch import ARCHES, X86_64, Arch, arch_of, with_arch
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

_SPEC = re.compile(
    r"^debian:\d{1,3}\.\d{1,4}([.~][0-9A-Za-z.+~]{1,40}(-[0-9A-Za-z.+~]{1,40})?)?(:[a-z0-9_]+)?$"
)
_PATTERN = re.compile(r"^debian:[0-9A-Za-z.+~*-]{1,80}(:[a-z0-9_]+)?$")
_SERIES = re.compile(r"^(\d+\.\d+)[.~+-]")
_JUST_NOW_S = 3600.0


@dataclass(frozen=True)
class _Latest:
    """Which cache entry a name stands for, and when the archive was last asked."""

    entry: str
    version: str
    asked_s: float  # seconds since the epoch
    notice: str = ""  # why that did not work


class DebianSource(KernelSource):
    """The cloud kernels of Debian's archive, fetched as packages and never installed."""

    name = "debian"
    title = "Debian's cloud kernel of a series, the newest release in the archive"
    examples = ("debian:6.1", "debian:6.12", "debian:7.2")
    built_title = "a build of Debian's cloud kernel"

    def resolve(self, spec: str, request: Request) -> Kernel:
        """Return the newest kernel of the name, asking once a day, or at once for `refresh`.

        A build is what it is: it is asked for only if it is not cached.
        """
        if not _SPEC.match(spec):
            raise UsageError(
                f"malformed kernel name '{spec}'{nearest(spec, self.examples)}",
                hint="give a series with two numbers, as debian:6.1, a release (debian:6.12.43), "
                "a build (debian:6.12.43-1~bpo12+1), or a pattern (debian:6.12.*)",
            )
        arch_of(spec)  # an unknown one is refused before anything is fetched
        if request.offline:
            return _only_cached(spec, request)
        refresh = request.refresh and not _is_build(spec)
        if not refresh and (kernel := _cached(spec, request.modules, fresh=True)):
            return kernel
        with locked(_slug(spec)):
            # Another process may have fetched it while this one waited.
            kernel = None if refresh else _cached(spec, request.modules, fresh=True)
            return kernel or _renew(spec, request)

    def expand(self, pattern: str, request: Request) -> tuple[str, ...]:
        """Return every build that the archive has, or that is cached; offline, by the last lists.

        Builds are told apart by their whole versions, so that a name stays what it was when
        another suite builds the same release.
        """
        if not _PATTERN.match(pattern):
            raise UsageError(f"malformed kernel pattern '{pattern}'", hint="as debian:6.12.*")
        wanted, arch = _name(pattern), arch_of(pattern)
        versions = set(_cached_builds(arch))
        for offers in _offers(request, arch, offline=request.offline):
            versions |= {offer.image.version for offer in offers}
        found = [version for version in versions if fnmatchcase(version, wanted)]
        if not found and request.offline:
            raise not_cached(f"every kernel of {pattern}")
        if not found:
            known = ", ".join(sorted({_series(v) for v in versions}, key=Version))
            raise UsageError(
                f"no kernel in Debian's archive is a {pattern}",
                hint=f"the archive has {known or f'none for {arch.debian}'}",
            )
        return tuple(with_arch(f"debian:{item}", arch) for item in sorted(found, key=Version))

    def listing(self) -> tuple[KernelListing, ...]:
        """Return the examples, and every name and build that is cached."""
        kept = sorted(path.name for path in KERNELS.home.glob("debian-*.latest.json"))
        names = [name.removesuffix(".latest.json").replace("-", ":") for name in kept]
        found = []
        for name in dict.fromkeys((*self.examples, *names)):
            latest = _read_latest(name)
            cached = latest is not None and (KERNELS.home / latest.entry).is_dir()
            version = latest.version if latest and cached else ""
            found.append(KernelListing(name, self.title, cached, version))
        found += [
            KernelListing(with_arch(f"debian:{v}", arch), self.built_title, cached=True, version=v)
            for arch in ARCHES.values()
            for v in sorted(_cached_builds(arch), key=Version)
        ]
        return tuple(found)

    def offered(self, series: str) -> tuple[str, ...]:
        """Return what the archive has, up to the series; InfrastructureError if it is not there."""
        found: dict[str, None] = {}
        for offers in _offers(ANY, X86_64):
            found |= dict.fromkeys(f"debian:{_series(offer.image.version)}" for offer in offers)
            if f"debian:{series}" in found:
                break
        return tuple(found)


def _name(spec: str) -> str:
    """Return a kernel's name without the source before it and the architecture behind it."""
    return spec.split(":")[1]


def _is_build(name: str) -> bool:
    """Say whether a name is a whole version, with the revision behind its last hyphen."""
    return "-" in name


def _series(version: str) -> str:
    found = _SERIES.match(version)
    return found[1] if found else ""


def _stands_for(name: str, version: str) -> bool:
    """Say whether a series, a release or a build has this version of a package."""
    return name in (_series(version), version.rpartition("-")[0], version)


def _entry(version: str, arch: Arch) -> str:
    return f"debian{arch.suffix}-{_series(version)}-{version.replace(':', '%3a')}"


def _cached_builds(arch: Arch) -> Iterator[str]:
    """Give the versions that the cache has, whatever name they were asked for by."""
    parts = 2 if arch is X86_64 else 3
    for path in KERNELS.home.glob("debian-*/kernel.json"):
        version = path.parent.name.split("-", parts)[-1]
        if path.parent.name == _entry(version, arch):
            yield version


def _slug(spec: str) -> str:
    return spec.replace(":", "-")


def _latest_path(spec: str) -> Path:
    return KERNELS.home / f"{_slug(spec)}.latest.json"


def _read_latest(spec: str) -> _Latest | None:
    version = _name(spec)
    if _is_build(spec):
        return _Latest(_entry(version, arch_of(spec)), version, time.time())
    latest = read_facts(_latest_path(spec), _Latest)
    return latest if latest and Path(latest.entry).name == latest.entry else None


def _cached(spec: str, modules: tuple[str, ...], *, fresh: bool) -> Kernel | None:
    """Return the cached kernel; with `fresh` only if the archive was asked within a day."""
    latest = _read_latest(spec)
    if latest is None or (fresh and not 0 <= time.time() - latest.asked_s < apt.DAY_S):
        return None
    kernel = load(KERNELS.home / latest.entry, spec, modules)
    return _described(kernel, latest) if kernel else None


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
    if not _is_build(spec):
        write_facts(_latest_path(spec), latest)
    kernel = loaded(KERNELS.home / latest.entry, spec, request.modules)
    return _described(kernel, latest)


def _described(kernel: Kernel, latest: _Latest) -> Kernel:
    # The archive drops packages of a superseded source before those that were signed from it.
    lacking = "" if kernel.config else "; without its configuration and modules, not in the archive"
    return replace(kernel, origin=kernel.origin + lacking + latest.notice)


def _fetch(spec: str, request: Request) -> _Latest:
    offer = _find(spec, request)
    best, progress = offer.image, request.progress
    arch = arch_of(spec)
    home = KERNELS.home / _entry(best.version, arch)
    with locked(home.name):  # a series, a release and a build can be one entry
        if load(home, spec, request.modules) is None:
            packages = (best, *_parts(offer.state, best, arch))
            with new_entry(home) as new:
                debs_dir = make_dir(new / "debs")
                debs = package.fetch(offer.state, packages, debs_dir, progress)
                suite = package.suite_of(offer.state, best)
                origin = f"Debian package {best.name} {best.version}"
                origin += f" from {suite}" if suite else ""
                with shown(progress, f"unpack {spec}"):
                    fill_from_packages(new, debs, origin, request.modules)
                shutil.rmtree(debs_dir)
    notice = "" if offer.fresh else "; update check failed (no network)"
    return _Latest(home.name, best.version, time.time(), notice)


@dataclass(frozen=True)
class _Offer:
    """An image package, the state that has it, and whether its lists are fresh."""

    image: package.Package
    state: apt.AptState
    fresh: bool


def _offers(
    request: Request, arch: Arch, older_than_s: float = apt.DAY_S, *, offline: bool = False
) -> Iterator[list[_Offer]]:
    """Give what each group of suites has."""
    for state, fresh in apt.states(request.progress, older_than_s, arch, offline=offline):
        yield [_Offer(image, state, fresh) for image in _images(state, arch)]


def _find(spec: str, request: Request) -> _Offer:
    """Return the newest image of a series, or the one of a release or a build."""
    name, arch = _name(spec), arch_of(spec)
    seen: set[str] = set()
    # Lists of this morning may lack what is new: look into fresh ones before giving up.
    for older_than_s in (0.0,) if request.refresh else (apt.DAY_S, _JUST_NOW_S):
        found: dict[str, _Offer] = {}
        for offers in _offers(request, arch, older_than_s):
            versions = {offer.image.version: offer for offer in offers}
            seen |= {_series(version) for version in versions}
            mine = {v: offer for v, offer in versions.items() if _stands_for(name, v)}
            found = {**mine, **found}
            if mine and (_is_build(name) or not _SERIES.match(name)):
                break  # all groups are asked for a release, which several can have built
        if found:
            return _only(spec, found)
    known = [with_arch(f"debian:{series}", arch) for series in sorted(seen, key=Version)]
    raise UsageError(
        f"kernel {spec} is not in Debian's archive{nearest(spec, known)}",
        hint=f"the archive has {', '.join(known) or f'none for {arch.debian}'}",
    )


def _only(spec: str, found: dict[str, _Offer]) -> _Offer:
    """Return the newest build of a series; UsageError for a release that was built twice."""
    builds, arch = sorted(found, key=Version), arch_of(spec)
    if len(builds) > 1 and _SERIES.match(_name(spec)):
        raise UsageError(
            f"kernel {spec} was built {len(builds)} times",
            hint=f"name one build: {', '.join(with_arch(f'debian:{v}', arch) for v in builds)}",
        )
    return found[builds[-1]]


def _image_name(arch: Arch) -> re.Pattern[str]:
    return re.compile(rf"linux-image-(?P<abi>\d\S*-cloud-{arch.debian})")


def _images(state: apt.AptState, arch: Arch) -> list[package.Package]:
    """Return the image packages that a state has."""
    image = _image_name(arch)
    names = state.ask("pkgnames", "linux-image-").split()
    return [
        item
        for item in package.packages(state, sorted(filter(image.fullmatch, names)))
        # A package that only depends on the image of another name stands for that one.
        if not any(image.fullmatch(name) for name, _ in item.depends)
        and _series(item.version)
        and item.architecture == arch.debian
    ]


def _parts(state: apt.AptState, image: package.Package, arch: Arch) -> tuple[package.Package, ...]:
    """Return the packages that the files of `image` are in since Linux 7, where it is empty."""
    match = _image_name(arch).fullmatch(image.name)
    abi = match["abi"] if match else ""
    wanted = dict(item for item in image.depends if item[0].endswith(f"-{abi}"))
    return tuple(
        item
        for item in package.packages(state, wanted)
        if item.version == (wanted[item.name] or image.version)
    )


SOURCE = DebianSource()
