# SPDX-License-Identifier: GPL-2.0-or-later
"""What QEMU's plugins are compiled from, and how: here, or when a wheel is made.

It imports nothing but the standard library and parts that do the same: hatch_build.py runs it
where no dependency is installed. A file's name has the digest of all that makes it, so that one
that was shipped serves only the sources that it was made of.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from lsmeter.core.errors import BuildError
from lsmeter.core.model.arch import Arch

_FLAGS = (
    *("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"),
    *("-shared", "-fPIC", "-fvisibility=hidden"),
)
_INIT_FLAGS = (
    *("-std=gnu11", "-Os", "-Wall", "-Wextra", "-Werror"),
    *("-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector", "-fno-pie", "-no-pie"),
)
# The first QEMU version with each interface, newest first; see plugin/qemu_api.h.
_INTERFACES = (((11, 1), 7), ((9, 1), 3), ((9, 0), 2), ((7, 2), 1))
# Those of Debian 12 and Ubuntu 24.04 (QEMU 7.2 and 8.2), and of Debian 13 (10.0).
_SHIPPED_INTERFACES = (1, 3)
# Each plugin, and further folders that it is made of.
_PLUGINS: Mapping[str, tuple[str, ...]] = {"attribution": ("events",), "tally": ()}


@dataclass(frozen=True)
class Recipe:
    """A file to compile: its name, the digest of what makes it, and a compiler's arguments."""

    name: str
    sha256: str
    arguments: tuple[str, ...]


def plugin_interface(qemu_version: str) -> int:
    """Return the plugin interface of a QEMU ("7.2.22 (Debian ...)"); BuildError if too old."""
    match = re.match(r"(\d{1,4})\.(\d{1,4})", qemu_version)
    if match is None:
        raise BuildError(f"cannot tell the version of QEMU from {qemu_version[:60]!r}")
    for first, interface in _INTERFACES:
        if (int(match[1]), int(match[2])) >= first:
            return interface
    raise BuildError(
        f"QEMU {match[0]} is too old for attribution",
        hint="install QEMU 7.2 or later, or run without --attribute",
    )


def source_dir() -> Path:
    """Return the folder with the plugin's C sources: shipped, or in the source tree."""
    package = Path(__file__).parents[1]
    for folder in (package / "_plugin", package.parents[1] / "plugin"):
        if (folder / "qemu_api.c").is_file():
            return folder
    raise BuildError(
        "the sources of the QEMU plugins are missing from this installation",
        hint="install lsmeter again, or run it from its source tree",
    )


def plugin_recipe(name: str, interface: int) -> Recipe:
    """Return how the plugin of the folder `name` is compiled for an interface."""
    home = source_dir()
    flags = (*_FLAGS, f"-DLSMETER_PLUGIN_API={interface}", f"-I{home}")
    folders = (home, *(home / part for part in ("arch", name, *_PLUGINS[name])))
    sources = sorted(path for folder in folders for path in folder.glob("*.[ch]"))
    return _recipe(f"{name}-{interface}-{{}}.so", f"{interface} {_FLAGS}", flags, sources)


def kallsyms_recipe(arch: Arch) -> Recipe:
    """Return how the init of the guest that lists its symbols is compiled."""
    source = source_dir() / "kallsyms/init.c"
    return _recipe(f"kallsyms-{arch.name}-{{}}", str(_INIT_FLAGS), _INIT_FLAGS, [source])


def compiler_for(arch: Arch) -> str:
    """Return the compiler of this machine, or the one for another architecture."""
    return os.environ.get("CC", "cc") if arch.is_host else arch.compiler


def shipped_plugins() -> Iterator[Recipe]:
    """Give how each plugin is compiled for the interfaces that wheels serve."""
    for name, interface in product(_PLUGINS, _SHIPPED_INTERFACES):
        yield plugin_recipe(name, interface)


def _recipe(name: str, options: str, flags: Sequence[str], sources: Sequence[Path]) -> Recipe:
    """Put the digest in place of {} in a name."""
    hasher = hashlib.sha256(options.encode())
    for path in sources:
        hasher.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    files = (str(path) for path in sources if path.suffix == ".c")
    digest = hasher.hexdigest()
    return Recipe(name.format(digest[:16]), digest, (*flags, *files))
