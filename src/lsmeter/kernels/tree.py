# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds a kernel's files where distributions put them, under any root directory.

The same layout serves an unpacked package and the host itself: boot/vmlinuz-RELEASE or
[usr/]lib/modules/RELEASE/vmlinuz, with its config, System.map and modules.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lsmeter.errors import InfrastructureError, UsageError
from lsmeter.kernels.decompress import Packing, packing_of, unpack
from lsmeter.kernels.modinfo import read_modinfo
from lsmeter.kernels.modules import (
    ModuleInfo,
    load_order,
    module_name,
    parse_modules_builtin,
    parse_modules_dep,
    with_table,
)
from lsmeter.storage import write_atomic

_MODULE_BYTES = 256 << 20
# Debian ships a System.map of one line that only says where the real one is.
_LEAST_MAP_BYTES = 4096
_WANTED = re.compile(
    r"^(boot/(vmlinuz|config|System\.map)-[^/]+"
    r"|(usr/)?lib/modules/[^/]+/(vmlinuz|config|System\.map|modules\.(dep|builtin)"
    r"|(kernel|extra|updates)/.*\.ko(\.(gz|xz|zst))?))$"
)


@dataclass(frozen=True)
class KernelTree:
    """One kernel's files; None or empty where there are none."""

    release: str
    image: Path | None = None
    config: Path | None = None
    system_map: Path | None = None
    module_files: Mapping[str, Path] = field(default_factory=dict)  # by name, as they are packed
    modules_dep: Path | None = None
    modules_builtin: Path | None = None


def is_wanted(path: str) -> bool:
    """Say whether a package's file at `path` (relative to the root) belongs to a kernel tree."""
    return _WANTED.match(path) is not None


def releases(root: Path) -> tuple[str, ...]:
    """Return the releases that have an image under `root`, sorted by name."""
    found = {path.name.removeprefix("vmlinuz-") for path in root.glob("boot/vmlinuz-*")}
    for base in ("lib/modules", "usr/lib/modules"):
        found |= {path.parent.name for path in root.glob(f"{base}/*/vmlinuz")}
    return tuple(sorted(found))


def find(root: Path, release: str) -> KernelTree:
    """Find the files of kernel `release` under `root`; only names are looked at."""
    bases = [root / base / release for base in ("usr/lib/modules", "lib/modules")]
    module_files: dict[str, Path] = {}
    for base in bases:
        for path in sorted(base.glob("*/**/*.ko*")) if base.is_dir() else ():
            name = module_name(path.name)
            if name:
                module_files.setdefault(name, path)
    system_map = _first(root / f"boot/System.map-{release}", *(b / "System.map" for b in bases))
    return KernelTree(
        release=release,
        image=_first(root / f"boot/vmlinuz-{release}", *(b / "vmlinuz" for b in bases)),
        config=_first(root / f"boot/config-{release}", *(b / "config" for b in bases)),
        system_map=real_system_map(system_map),
        module_files=module_files,
        modules_dep=_first(*(b / "modules.dep" for b in bases)),
        modules_builtin=_first(*(b / "modules.builtin" for b in bases)),
    )


def _first(*paths: Path) -> Path | None:
    return next((path for path in paths if path.is_file()), None)


def real_system_map(path: Path | None) -> Path | None:
    """Return `path` when it is a System.map with symbols, None for none and for a stand-in."""
    return path if path and path.is_file() and path.stat().st_size >= _LEAST_MAP_BYTES else None


def builtin_modules(tree: KernelTree) -> frozenset[str]:
    """Return the names of the modules that are part of the image, as far as the tree tells."""
    return parse_modules_builtin(read_text(tree.modules_builtin))


def needed_modules(tree: KernelTree, wanted: tuple[str, ...], into: Path) -> tuple[Path, ...]:
    """Unpack what `wanted` needs into `into`, one NAME.ko each; return them in loading order.

    Raises UsageError, naming the module, when one is damaged or lacks a dependency.
    """
    contents: dict[str, bytes] = {}

    def info(name: str) -> ModuleInfo:
        path = tree.module_files[name]
        try:
            contents[name] = read_module(path)
            return read_modinfo(contents[name])
        except ValueError as error:
            raise ValueError(f"{path.name}: {error}") from error

    table = parse_modules_dep(read_text(tree.modules_dep))
    try:
        order = load_order(
            wanted, frozenset(tree.module_files), builtin_modules(tree), with_table(table, info)
        )
    except ValueError as error:
        raise UsageError(
            f"modules of kernel {tree.release}: {error}",
            hint="the kernel's package or directory is incomplete; install or fetch it again",
        ) from error
    files = []
    for name in order:
        files.append(into / f"{name}.ko")
        write_atomic(files[-1], contents[name])
    return tuple(files)


def read_module(path: Path) -> bytes:
    """Return a module's file unpacked. Raises DamagedError, InfrastructureError if unreadable."""
    try:
        packed = path.read_bytes()
    except OSError as error:
        raise InfrastructureError(
            f"cannot read module {path}: {error.strerror}",
            hint="make it readable, or give another kernel with --kernel",
        ) from error
    packing = packing_of(packed[:16])
    if packing not in (Packing.GZIP, Packing.XZ, Packing.ZSTD):
        return packed
    content = io.BytesIO()
    unpack(packing, io.BytesIO(packed), content, limit_bytes=_MODULE_BYTES)
    return content.getvalue()


def read_text(path: Path | None) -> str:
    """Return a file's text, "" for None. Raises InfrastructureError when it is unreadable."""
    if path is None:
        return ""
    try:
        return path.read_text(errors="replace")
    except OSError as error:
        raise InfrastructureError(
            f"cannot read {path}: {error.strerror}", hint="make it readable and try again"
        ) from error
