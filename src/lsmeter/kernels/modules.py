# SPDX-License-Identifier: GPL-2.0-or-later
"""Which modules a guest needs, dependencies first; no file is touched here.

The formats are those of kmod: modules.dep(5) and modules.builtin.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

_FILE = re.compile(r"^(?P<name>[A-Za-z0-9_-]+)\.ko(\.(gz|xz|zst))?$")


@dataclass(frozen=True)
class ModuleInfo:
    """What a module's .modinfo says of what must be loaded before it."""

    depends: tuple[str, ...] = ()
    softdeps: tuple[str, ...] = ()  # "pre" only: those wanted before it


def module_name(path: str) -> str | None:
    """Return the name of the module in the file `path` (drivers/block/brd.ko.xz: brd).

    None when it is no module's file. A dash is an underscore, as the kernel has it.
    """
    found = _FILE.match(PurePosixPath(path).name)
    return canonical(found["name"]) if found else None


def canonical(name: str) -> str:
    """Return a module's name as the kernel writes it, with underscores."""
    return name.replace("-", "_")


def parse_modules_dep(text: str) -> dict[str, tuple[str, ...]]:
    """Read modules.dep: each module's name and those that it needs, by name."""
    found: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines():
        path, colon, needs = line.partition(":")
        name = module_name(path.strip())
        if colon and name:
            names = (module_name(need) for need in needs.split())
            found[name] = tuple(need for need in names if need)
    return found


def parse_modules_builtin(text: str) -> frozenset[str]:
    """Read modules.builtin: the names of all modules that are part of the image."""
    names = (module_name(line.strip()) for line in text.splitlines())
    return frozenset(name for name in names if name)


def load_order(
    wanted: Iterable[str],
    available: frozenset[str],
    builtin: frozenset[str],
    info: Callable[[str], ModuleInfo],
) -> tuple[str, ...]:
    """Return the modules to load for `wanted`, each after those it needs, each once.

    What is built in or not available is left out. `info` is asked only for modules that are
    needed. Raises ValueError when a module needs one that is neither built in nor available,
    or when modules need each other.
    """
    order: list[str] = []
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
        order.append(name)

    for name in map(canonical, wanted):
        if name in available:
            visit(name)
    return tuple(order)


def parse_config(text: str) -> dict[str, str]:
    """Read a kernel's configuration: options without CONFIG_, values without quotes.

    Options that are not set are left out.
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and key.startswith("CONFIG_"):
            quoted = len(value) > 1 and value.startswith('"') and value.endswith('"')
            found[key.removeprefix("CONFIG_")] = (
                value[1:-1].replace('\\"', '"').replace("\\\\", "\\") if quoted else value
            )
    return found


def with_table(
    table: Mapping[str, tuple[str, ...]], info: Callable[[str], ModuleInfo]
) -> Callable[[str], ModuleInfo]:
    """Take hard dependencies from modules.dep where it has the module, the rest from `info`."""

    def look_up(name: str) -> ModuleInfo:
        facts = info(name)
        return ModuleInfo(table[name], facts.softdeps) if name in table else facts

    return look_up
