# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds a kernel's files where distributions put them, and the modules that a guest needs.

The same layout serves an unpacked package and the host itself: boot/vmlinuz-RELEASE or
[usr/]lib/modules/RELEASE/vmlinuz, with its config, System.map and modules.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from lsmeter.core.errors import UsageError
from lsmeter.core.storage import reading, write_atomic
from lsmeter.sources.kernels.vmlinux import elf_damage, packing_of, unpack

_MODULE_BYTES = 256 << 20
_FILE = re.compile(r"^(?P<name>[A-Za-z0-9_-]+)\.ko(\.(gz|xz|zst))?$")
# Debian ships a System.map of one line that only says where the real one is.
_LEAST_MAP_BYTES = 4096
_WANTED = re.compile(
    r"^(boot/(vmlinuz|config|System\.map)-[^/]+"
    r"|(usr/)?lib/modules/[^/]+/(vmlinuz|config|System\.map|modules\.builtin"
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
    for path in (path for base in bases for path in sorted(base.glob("*/**/*.ko*"))):
        if name := module_name(path.name):
            module_files.setdefault(name, path)

    def file(name: str) -> Path | None:
        return first(root / f"boot/{name}-{release}", *(base / name for base in bases))

    return KernelTree(
        release=release,
        image=file("vmlinuz"),
        config=file("config"),
        system_map=real_system_map(file("System.map")),
        module_files=module_files,
        modules_builtin=first(*(base / "modules.builtin" for base in bases)),
    )


def first(*paths: Path) -> Path | None:
    """Return the first of `paths` that is a file."""
    return next((path for path in paths if path.is_file()), None)


def real_system_map(path: Path | None) -> Path | None:
    """Return `path` when it is a System.map with symbols, None for none and for a stand-in."""
    return path if path and path.is_file() and path.stat().st_size >= _LEAST_MAP_BYTES else None


def needed_modules(
    tree: KernelTree, wanted: tuple[str, ...], into: Path
) -> dict[Path, tuple[str, ...]]:
    """Unpack what `wanted` needs; return the files to load, in order, with what each needs."""
    lines = read_text(tree.modules_builtin).splitlines()
    builtin = frozenset(filter(None, (module_name(line.strip()) for line in lines)))
    contents: dict[str, bytes] = {}

    def info(name: str) -> ModuleInfo:
        path = tree.module_files[name]
        try:
            contents[name] = _read_module(path)
            return read_modinfo(contents[name])
        except ValueError as error:
            raise ValueError(f"{path.name}: {error}") from error

    try:
        order = load_order(wanted, frozenset(tree.module_files), builtin, info)
    except ValueError as error:
        raise UsageError(
            f"modules of kernel {tree.release}: {error}",
            hint="the kernel's package or directory is incomplete; install or fetch it again",
        ) from error
    needs: dict[Path, tuple[str, ...]] = {}
    for name, facts in order.items():
        write_atomic(into / f"{name}.ko", contents[name])
        asked = (*facts.depends, *facts.softdeps)
        needs[into / f"{name}.ko"] = tuple(need for need in asked if need not in builtin)
    return needs


def _read_module(path: Path) -> bytes:
    packed = _read(path)
    packing = packing_of(packed[:16])
    if packing not in ("gzip", "xz", "zstd"):
        return packed
    content = io.BytesIO()
    unpack(packing, io.BytesIO(packed), content, limit_bytes=_MODULE_BYTES)
    return content.getvalue()


def read_text(path: Path | None) -> str:
    """Return a file's text, "" for None. Raises UsageError when it is unreadable."""
    return _read(path).decode(errors="replace") if path else ""


def _read(path: Path) -> bytes:
    with reading(path, "make it readable, or give another kernel with --kernel"):
        return path.read_bytes()


@dataclass(frozen=True)
class ModuleInfo:
    """What a module's .modinfo says of what must be loaded before it."""

    depends: tuple[str, ...] = ()
    softdeps: tuple[str, ...] = ()  # "pre" only: those wanted before it


def module_name(path: str) -> str | None:
    """Return the name of the module in the file `path` (drivers/block/brd.ko.xz: brd), if any."""
    found = _FILE.match(PurePosixPath(path).name)
    return canonical(found["name"]) if found else None


def canonical(name: str) -> str:
    """Return a module's name as the kernel writes it, with underscores."""
    return name.replace("-", "_")


def read_modinfo(content: bytes) -> ModuleInfo:
    """Read the dependencies out of an unpacked module. Raises ValueError when it is damaged."""
    from elftools.elf.elffile import ELFFile

    try:
        section = ELFFile(io.BytesIO(content)).get_section_by_name(".modinfo")
        data = section.data() if section else b""
    except elf_damage() as error:
        raise ValueError(f"damaged module: {error}") from error
    entries = [entry.partition("=") for entry in data.decode(errors="replace").split("\0")]
    depends = [value.replace(",", " ") for key, _, value in entries if key == "depends"]
    before = [name for key, _, value in entries if key == "softdep" for name in _before(value)]
    return ModuleInfo(*(tuple(canonical(" ".join(w)).split()) for w in (depends, before)))


def _before(softdep: str) -> Iterator[str]:
    """Yield what is loaded first: a and b of `pre: a b post: c`."""
    kind = ""
    for word in softdep.split():
        if word.endswith(":"):
            kind = word
        elif kind == "pre:":
            yield word


def load_order(
    wanted: Iterable[str],
    available: frozenset[str],
    builtin: frozenset[str],
    info: Callable[[str], ModuleInfo],
) -> dict[str, ModuleInfo]:
    """Return the modules to load for `wanted`, as far as available, after those they need."""
    order: dict[str, ModuleInfo] = {}
    under_way: list[str] = []

    def visit(name: str) -> None:
        if name in order or name in builtin:
            return
        if name in under_way:
            raise ValueError(f"modules need each other: {', '.join([*under_way, name])}")
        under_way.append(name)
        facts = info(name)
        for soft in facts.softdeps:
            if soft in available and soft not in under_way:
                visit(soft)
        for need in facts.depends:
            if need not in available and need not in builtin:
                raise ValueError(f"module {name} needs {need}, which is not there")
            visit(need)
        under_way.pop()
        order[name] = facts

    for name in map(canonical, wanted):
        if name in available:
            visit(name)
    return order


def parse_config(text: str) -> dict[str, str]:
    """Read a kernel's configuration: options without CONFIG_, values without quotes."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and key.startswith("CONFIG_"):
            if len(value) > 1 and value.startswith('"') and value.endswith('"'):
                value = value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
            found[key.removeprefix("CONFIG_")] = value
    return found
