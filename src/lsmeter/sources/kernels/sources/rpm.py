# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels in RPM packages, of a directory or a repository: Fedora's, RHEL's, one's own.

The image is in kernel-core, modules are in kernel-modules-core and kernel-modules of the same
version. Nothing is installed and no scriptlet is run.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import time
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from lsmeter.core.errors import UsageError
from lsmeter.core.model import Kernel
from lsmeter.core.storage import make_dir
from lsmeter.sources.kernels.apt import DAY_S
from lsmeter.sources.kernels.entry import (
    KERNELS,
    fill_entry,
    fill_from_packages,
    kernel_of_packages,
    load,
)
from lsmeter.sources.kernels.package import RPM_CORE, rpms_beside
from lsmeter.sources.kernels.repository import INDEX, Offered, Repository
from lsmeter.sources.kernels.resolve import KernelSource, Request, not_cached

_NAMES = re.compile(r"kernel(-core|-modules-core|-modules)?")


class RpmSource(KernelSource):
    """The newest kernel of a directory or a repository of RPM packages, or a version of it."""

    name, shown = "rpm", "rpm:PLACE"
    title = "a kernel of a directory or repository of RPM packages: rpm:DIRECTORY, rpm:URL#VERSION"
    examples = ("rpm:./packages", "rpm:./packages#6.12.0-1.fc43")

    def resolve(self, spec: str, request: Request) -> Kernel:
        """Return the kernel; an address is asked once a day, or at once for `refresh`."""
        place, _, version = spec.removeprefix("rpm:").partition("#")
        if not place:
            raise UsageError(f"kernel {spec} names no directory", hint=f"as {self.examples[0]}")
        try:
            remote = urlsplit(place).scheme
        except ValueError as error:
            raise UsageError(f"kernel {spec}: {error}", hint=f"as {self.examples[0]}") from error
        if remote:
            return _of_repository(spec, Repository(place.rstrip("/")), version, request)
        if (Path(place) / INDEX).is_file():
            home = Repository(str(Path(place).absolute()))
            return _of_repository(spec, home, version, request)
        return kernel_of_packages(spec, rpms_beside(_only_file(spec, place, version)), request)


def _only_file(spec: str, place: str, version: str) -> Path:
    """Return the package with the image in a directory without metadata."""
    if not Path(place).is_dir():
        raise UsageError(f"kernel {spec}: {place} is no directory", hint="as rpm:./packages")
    pattern = f"{RPM_CORE}-{version}.*.rpm" if version else f"{RPM_CORE}-*.rpm"
    # Two stars in a row are no more than one, and glob takes them for something else.
    fitting = Path(place).glob(re.sub(r"\*+", "*", pattern))
    found = sorted(path for path in fitting if path.is_file())
    if len(found) == 1:
        return found[0]
    names = ", ".join(path.name for path in found[:8])
    raise UsageError(
        f"kernel {spec}: {place} has {f'{len(found)} packages' if found else 'no package'} "
        f"{pattern}{': ' if names else ''}{names}",
        hint="name one: its path, or rpm:DIRECTORY#VERSION",
    )


def _of_repository(spec: str, source: Repository, version: str, request: Request) -> Kernel:
    prefix = f"rpm-{hashlib.sha256(f'{source.place}#{version}'.encode()).hexdigest()[:12]}"
    if source.remote:
        if kernel := _cached(prefix, spec, request):
            return kernel
        if request.offline:
            raise not_cached(f"kernel {spec}")
    offered = source.packages(lambda name: bool(_NAMES.fullmatch(name)), request.progress)
    core = _newest(spec, offered, version)
    same = (core.version, core.arch)
    parts = [item for item in offered if (item.version, item.arch) == same and item != core]
    fill = partial(_fill, source=source, parts=(core, *parts), request=request)
    return fill_entry(f"{prefix}-{core.sha256[:16]}", spec, core.name, request, fill)


def _cached(prefix: str, spec: str, request: Request) -> Kernel | None:
    """Return the kernel that was taken last, if that is all there is or was done within a day."""
    times_s = {home: home.stat().st_mtime for home in KERNELS.home.glob(f"{prefix}-*")}
    if not times_s:
        return None
    home = max(times_s, key=lambda home: times_s[home])
    young = 0 <= time.time() - times_s[home] < DAY_S and not request.refresh
    return load(home, spec, request.modules) if young or request.offline else None


def _newest(spec: str, offered: tuple[Offered, ...], version: str) -> Offered:
    """Return the package with the image that was built last, among those of a version if given."""
    cores = [item for item in offered if item.name == RPM_CORE]
    mine = [item for item in cores if version in ("", item.version)]
    if mine:
        return max(mine, key=lambda item: (item.built_s, item.version))
    known = ", ".join(sorted({item.version for item in cores})[:12])
    raise UsageError(
        f"kernel {spec}: the repository has no {RPM_CORE}{f' {version}' if version else ''}",
        hint=f"it has {known}" if known else "is it the one with the kernel's packages?",
    )


def _fill(new: Path, source: Repository, parts: tuple[Offered, ...], request: Request) -> None:
    home = make_dir(new / "rpms")
    files = {source.fetch(item, home, request.progress): item.sha256 for item in parts}
    origin = f"RPM package {parts[0].name} {parts[0].version} of {source.place}"
    fill_from_packages(new, files, origin, request.modules)
    shutil.rmtree(home)


SOURCE = RpmSource()
