# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels built with `lsmeter kernel build`: built:NAME.

Each has a directory in the cache, with image, symbols, configuration and facts.
"""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lsmeter.core.entries import Entries, new_entry
from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.model import Artifact, Kernel
from lsmeter.core.model.arch import ARCHES, X86_64
from lsmeter.core.registry import unknown
from lsmeter.core.storage import HeldError, cache_dir, locked, prove
from lsmeter.sources.kernels.resolve import KernelListing, KernelSource, Request
from lsmeter.sources.kernels.tree import parse_config

PREFIX = "built:"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")


@dataclass(frozen=True)
class BuiltKernel:
    """The facts of one built kernel; paths are relative to its directory."""

    name: str
    identity: str  # of all that went into it
    release: str  # as `uname -r` says it
    origin: str  # one line
    fragments: tuple[str, ...]
    with_lsm: tuple[str, ...]
    compiler: str
    slot: str  # the directory of its objects, by name
    image_sha256: str
    image_bytes: int
    build_s: float = 0.0  # wall time of the build that made it
    artifacts: tuple[tuple[str, str], ...] = ()  # further files: name and SHA-256
    without: tuple[tuple[str, str], ...] = ()  # those that could not be made: name and reason
    others: tuple[tuple[str, str], ...] = ()  # configuration and symbols: name and SHA-256
    arch: str = X86_64.name
    format: Literal[1] = 1

    @property
    def home(self) -> Path:
        """Return the directory of its files."""
        return KERNELS.home / self.name

    @property
    def image(self) -> Path:
        """Return the image that a guest boots: an ELF without debug information, or an Image."""
        return self.home / "vmlinux"


def _whole(kernel: BuiltKernel, home: Path) -> bool:
    return kernel.name == home.name and kernel.image.is_file()


KERNELS = Entries("kernel-built", "kernel.json", BuiltKernel, _whole)


def check_name(name: str) -> str:
    """Return `name` (without `built:`); raise UsageError if it cannot name a kernel."""
    bare = name.removeprefix(PREFIX)
    if not _NAME.fullmatch(bare):
        raise UsageError(
            f"'{name[:100]}' cannot name a built kernel",
            hint="letters, digits, '.', '_', '+' and '-', at most 100: --name before-my-patch",
        )
    return bare


def find_built(name: str) -> BuiltKernel | None:
    """Return the kernel called `name`, None when there is none (or it is damaged)."""
    return KERNELS.read(KERNELS.home / check_name(name))


def get_built(name: str) -> BuiltKernel:
    """Return the kernel called `name`; raise UsageError with the nearest name otherwise."""
    if found := find_built(name):
        return found
    if names := [kernel.name for kernel in KERNELS.all()]:
        raise unknown("built kernel", check_name(name), names)
    raise UsageError(
        f"no kernel called '{check_name(name)}' has been built, nor any other",
        hint="build one: lsmeter kernel build debian-source:6.1 --config lsm-all",
    )


def to_kernel(built: BuiltKernel) -> Kernel:
    """Return the kernel as others are; InfrastructureError if a file is not what was built."""
    hint = f"build it again with --name {built.name}; it comes {built.origin.partition(',')[0]}"
    made = {"vmlinux": built.image_sha256, **dict(built.artifacts), **dict(built.others)}
    for name, digest in made.items():
        if name == "vmlinux" or (built.home / name).exists():
            prove(built.home / name, digest, hint)
    try:
        config = parse_config((built.home / "config").read_text(encoding="utf-8"))
    except OSError as error:
        raise InfrastructureError(
            f"built kernel {built.name} is damaged: {error.strerror} ({built.home / 'config'})",
            hint=hint,
        ) from error
    return Kernel(
        name=PREFIX + built.name,
        release=built.release,
        version="",
        origin=built.origin,
        image=built.image,
        image_sha256=built.image_sha256,
        boot_protocol=next(iter(ARCHES[built.arch].boards)),
        arch=built.arch,
        config=config,
        system_map=built.home / "System.map",
        artifacts={
            name: Artifact(built.home / name, sha256)
            for name, sha256 in built.artifacts
            if (built.home / name).is_file()
        },
    )


def put(built: BuiltKernel, files: dict[str, Path]) -> None:
    """Store `files` (by their name in the store) under the kernel's name, replacing another."""
    earlier = find_built(built.name)
    with locked(f"kernel-built-{built.name}"), new_entry(built.home) as partial:
        for name, source in files.items():
            shutil.copyfile(source, partial / name)
        KERNELS.write(partial, built)
    if earlier is not None:
        drop_slot(earlier.slot)


def remove_built(name: str) -> BuiltKernel:
    """Remove a built kernel, and its objects when no other kernel was built from them."""
    built = get_built(name)
    with locked(f"kernel-built-{built.name}"):
        shutil.rmtree(built.home, ignore_errors=True)
    drop_slot(built.slot)
    return built


def slots_dir() -> Path:
    """Return the directory of all builds' objects; it may not exist yet."""
    return cache_dir() / "kernel-slots"


def drop_slot(slot: str) -> None:
    """Remove the objects in `slot` unless a built kernel refers to them, or one that is built."""
    if not slot:
        return
    name = Path(slot).name
    with suppress(HeldError), locked(f"kernel-slot-{name}", 0):
        if all(kernel.slot != slot for kernel in KERNELS.all()):
            shutil.rmtree(slots_dir() / name, ignore_errors=True)


class BuiltSource(KernelSource):
    """The kernels in the store of builds; naming one never starts a build."""

    name = "built"
    title = "a kernel that you have built from source"
    examples = ("built:6.1-lsm-all", "built:6.1-dac")

    def resolve(self, spec: str, request: Request) -> Kernel:  # noqa: ARG002  (all is built in)
        """Return the built kernel; raise UsageError with the nearest name if there is none."""
        return to_kernel(get_built(spec))

    def listing(self) -> tuple[KernelListing, ...]:
        """Return all built kernels."""
        return tuple(
            KernelListing(PREFIX + built.name, built.origin, cached=True, version=built.release)
            for built in KERNELS.all()
        )


SOURCE = BuiltSource()
