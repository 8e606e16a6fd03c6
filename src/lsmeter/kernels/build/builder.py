# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds a kernel: source, fragments and modules in; a kernel in the cache out."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lsmeter.errors import BuildError, InfrastructureError
from lsmeter.kernels.build import (
    artifacts,
    configure,
    farm,
    fragment,
    shipped,
    store,
    with_lsm,
)
from lsmeter.kernels.build.make import Slot, check_tools, run_make, version_of
from lsmeter.kernels.build.source import SourceTree, identify_again, resolve_source
from lsmeter.kernels.digest import sha256_of
from lsmeter.model import Kernel
from lsmeter.progress import SILENT, Progress
from lsmeter.storage import locked, make_dir, write_atomic

DEFAULT_CONFIGS = ("lsm-all",)

# Part of every kernel's identity: raise it when the way of building changes what comes out.
_RECIPE = 2
_STRIP_TIMEOUT_S = 120


@dataclass(frozen=True)
class Toolchain:
    """The programs whose version changes the kernel."""

    compiler: str
    linker: str
    pahole: str


@dataclass(frozen=True)
class Recipe:
    """All that goes into one kernel."""

    source: SourceTree
    fragments: tuple[fragment.Fragment, ...]
    assignments: tuple[fragment.Assignment, ...]
    lsms: tuple[with_lsm.OutOfTreeLsm, ...]
    toolchain: Toolchain

    @property
    def identity(self) -> str:
        """Hash all that goes in: the same identity is the same kernel."""
        parts = {
            "recipe": _RECIPE,
            "source": self.source.identity,
            "config": fragment.config_text(self.assignments),
            "lsms": [lsm.identity for lsm in self.lsms],
            "toolchain": dataclasses.astuple(self.toolchain),
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    @property
    def default_name(self) -> str:
        """Name the kernel by what went in: 6.1-lsm-all, 6.1-lsm-all-example-lsm."""
        named = [part.name for part in self.fragments if part.foundation or len(self.fragments) < 2]
        modules = [lsm.name for lsm in self.lsms if lsm.name not in named]
        return re.sub(r"[^A-Za-z0-9._+-]", "-", "-".join([self.source.label, *named, *modules]))

    @property
    def slot(self) -> Slot:
        """Return where it is built; kernels that differ in added modules share their objects."""
        names = sorted(part.name for part in self.fragments if not part.with_lsm)
        key = json.dumps([str(self.source.path), names, dataclasses.astuple(self.toolchain)])
        digest = hashlib.sha256(key.encode()).hexdigest()[:10]
        readable = re.sub(r"[^A-Za-z0-9.+-]", "-", "-".join([self.source.path.name, *names]))
        return Slot(store.slots_dir() / f"{readable[:60]}-{digest}")


def build_kernel(
    source: str,
    configs: Sequence[str] = DEFAULT_CONFIGS,
    with_lsms: Sequence[Path] = (),
    name: str | None = None,
    progress: Progress = SILENT,
    *,
    offline: bool = False,
    refresh: bool = False,
) -> Kernel:
    """Return the kernel built from `source` with the fragments `configs`, built if need be.

    source: debian-source:6.1, a tarball, or the directory of a kernel tree. configs: names of
    fragments that come with lsmeter, or files. with_lsms: directories of modules to add.
    name: what to call it (default: after what goes in). offline: fetch nothing.
    refresh: look for a newer patch of a Debian series now. A kernel of the same name that was
    made of something else is replaced. Raises UsageError, BuildError or InfrastructureError.
    """
    wanted = store.check_name(name) if name else None
    recipe = prepare(
        source, configs, with_lsms, progress=progress, offline=offline, refresh=refresh
    )
    wanted = wanted or recipe.default_name
    built = store.find_built(wanted)
    if built is not None and built.identity == recipe.identity and not _can_complete(built):
        return store.to_kernel(built)
    with locked(f"kernel-slot-{recipe.slot.home.name}"):
        _build(recipe, wanted, progress, len(os.sched_getaffinity(0)))
    return store.to_kernel(store.get_built(wanted))


def prepare(
    source: str,
    configs: Sequence[str],
    with_lsms: Sequence[Path],
    *,
    progress: Progress = SILENT,
    offline: bool = False,
    refresh: bool = False,
) -> Recipe:
    """Read all that goes into a kernel; what is wrong with the user's words is said here."""
    fragments = _fragments(configs)
    shipped_lsms = [shipped.shipped_lsm(word) for part in fragments for word in part.with_lsm]
    lsms = tuple(with_lsm.read_lsm(path) for path in (*shipped_lsms, *with_lsms))
    requests = [fragment.Fragment(f"--with-lsm {lsm.name}", "", lsm.assignments) for lsm in lsms]
    assignments = fragment.merge([*fragments, *requests])
    check_tools()
    return Recipe(
        source=resolve_source(source, progress=progress, offline=offline, refresh=refresh),
        fragments=fragments,
        assignments=assignments,
        lsms=lsms,
        toolchain=Toolchain(version_of("gcc"), version_of("ld"), version_of("pahole")),
    )


def _fragments(configs: Sequence[str]) -> tuple[fragment.Fragment, ...]:
    named = [shipped.load_fragment(word) for word in dict.fromkeys(configs)]
    foundation = fragment.foundation_of(named)
    return tuple([shipped.load_fragment(foundation)] if foundation else []) + tuple(named)


def _build(recipe: Recipe, name: str, progress: Progress, jobs: int) -> None:
    slot = recipe.slot
    make_dir(slot.home)
    task = f"build {name}"
    started = time.monotonic()
    try:
        write_atomic(slot.log, b"")
        _lay_out(recipe, slot)
        config = configure.configure(
            recipe.assignments, slot, jobs=jobs, task=task, progress=progress
        )
        with_lsm.check_count(configure.tree_reader(slot.tree), config)
        fresh = not (slot.objects / "vmlinux").exists()
        expected = sum(part.objects for part in recipe.fragments) if fresh else 0
        steps = run_make(
            slot, ["vmlinux"], jobs=jobs, task=task, expected=expected or None, progress=progress
        )
        _refuse_moved(recipe.source)
        configure.remember(recipe.assignments, slot)
        boot_image = _strip(slot)
    except BuildError as error:
        error.log_path = error.log_path or slot.log
        raise
    finally:
        progress.finish(task)
    made = artifacts.make_artifacts(slot, config)
    facts = _facts(recipe, name, boot_image, time.monotonic() - started, steps)
    files = {
        "vmlinux": boot_image,
        "System.map": slot.objects / "System.map",
        "config": slot.objects / ".config",
        **made.files,
    }
    kept = tuple((key, sha256_of(path)) for key, path in made.files.items())
    store.put(dataclasses.replace(facts, artifacts=kept, without=made.without), files)


def _can_complete(built: store.BuiltKernel) -> bool:
    """Say whether a file that belongs to the kernel is missing and could be made now."""
    kernel = store.to_kernel(built)
    missing = set(artifacts.wanted(kernel.config)) - set(kernel.artifacts)
    return bool(missing) and artifacts.can_make()


def _refuse_moved(source: SourceTree) -> None:
    """Refuse a kernel whose source changed under the compiler: its name would be a lie."""
    if source.is_users and identify_again(source) != source.identity:
        raise BuildError(
            f"{source.path} changed while the kernel was built from it",
            hint="build again; what has been compiled is kept",
        )


def _lay_out(recipe: Recipe, slot: Slot) -> None:
    source = recipe.source
    own = with_lsm.overlay(recipe.lsms, configure.tree_reader(source.path))
    if source.files is None:
        entries = farm.plan_links(source.path, own)
    else:
        entries = farm.plan_files(source.path, source.files, own)
    farm.sync(slot.tree, entries)


def _strip(slot: Slot) -> Path:
    """Return a copy of the image without debug information, which no guest needs."""
    stripped = slot.home / "vmlinux"
    words = ["objcopy", "--strip-debug", str(slot.objects / "vmlinux"), str(stripped)]
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=_STRIP_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise InfrastructureError("objcopy took too long on the new kernel") from error
    if done.returncode:
        raise BuildError(
            "objcopy cannot strip the new kernel", log_tail=tuple(done.stderr.splitlines()[-5:])
        )
    return stripped


def _facts(
    recipe: Recipe, name: str, boot_image: Path, build_s: float, steps: int
) -> store.BuiltKernel:
    from lsmeter.kernels import image  # noqa: PLC0415  (what is unchanged needs no ELF reader)

    prepared = image.prepare_elf(boot_image)
    lsms = tuple(lsm.name for lsm in recipe.lsms)
    fragments = tuple(part.name for part in recipe.fragments)
    added = f" with {', '.join(lsms)}" if lsms else ""
    return store.BuiltKernel(
        name=name,
        identity=recipe.identity,
        release=prepared.release or recipe.source.release,
        origin=f"built from {recipe.source.origin}, {'+'.join(fragments)}{added}, "
        f"{recipe.toolchain.compiler}",
        fragments=fragments,
        with_lsm=lsms,
        compiler=recipe.toolchain.compiler,
        slot=recipe.slot.home.name,
        image_sha256=sha256_of(boot_image),
        image_bytes=boot_image.stat().st_size,
        build_s=round(build_s, 1),
        steps=steps,
    )
