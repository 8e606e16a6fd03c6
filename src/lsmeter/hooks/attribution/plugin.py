# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the QEMU plugin for the QEMU that will load it, once, and writes its symbol file.

The interface of plugins changed between versions of QEMU and distributions ship no header, so
that the plugin is compiled on this host for the version found here (plugin/qemu_api.h).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lsmeter.errors import BuildError, InfrastructureError
from lsmeter.hooks.attribution.symbols import SymbolTable, symbol_file
from lsmeter.storage import cache_dir, locked, make_dir, write_atomic

_FLAGS = (
    *("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"),
    *("-shared", "-fPIC", "-fvisibility=hidden"),
)
_INIT_FLAGS = (
    *("-std=gnu11", "-Os", "-Wall", "-Wextra", "-Werror"),
    *("-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector", "-fno-pie", "-no-pie"),
)
_DEADLINE_S = 120
# The first QEMU version with each interface, newest first; see plugin/qemu_api.h.
_INTERFACES = (((11, 1), 7), ((9, 1), 3), ((9, 0), 2), ((7, 2), 1))


@dataclass(frozen=True)
class Plugin:
    """A plugin that the given QEMU can load. sha256 is that of its sources and their options."""

    path: Path
    interface: int
    sha256: str


def plugin_interface(qemu_version: str) -> int:
    """Return the plugin interface of a QEMU ("7.2.22 (Debian ...)"); BuildError if too old."""
    match = re.match(r"(\d{1,4})\.(\d{1,4})", qemu_version)
    if match is None:
        raise BuildError(f"cannot tell the version of QEMU from {qemu_version[:60]!r}")
    version = int(match[1]), int(match[2])
    for first, interface in _INTERFACES:
        if version >= first:
            return interface
    raise BuildError(
        f"QEMU {version[0]}.{version[1]} is too old for attribution",
        hint="install QEMU 7.2 or later, or run without --attribute",
    )


def source_dir() -> Path:
    """Return the folder with the plugin's C sources: shipped, or in the source tree."""
    package = Path(__file__).parents[2]
    for folder in (package / "_plugin", package.parents[1] / "plugin"):
        if (folder / "attribution.c").is_file():
            return folder
    raise BuildError(
        "the sources of the QEMU plugin are missing from this installation",
        hint="install lsmeter again, or run it from its source tree",
    )


def build_plugin(qemu_version: str) -> Plugin:
    """Return the plugin for this version of QEMU, compiled now or found in the cache.

    Raises BuildError with the compiler's words when it cannot be built.
    """
    interface = plugin_interface(qemu_version)
    source = source_dir()
    digest = _digest(source, interface)
    target = cache_dir() / "plugin" / f"attribution-{interface}-{digest[:16]}.so"
    if not target.is_file():
        with locked(f"plugin-{interface}"):
            if not target.is_file():
                files = (str(path) for path in sorted(source.glob("*.c")))
                _compile((*_FLAGS, f"-DLSMETER_PLUGIN_API={interface}", *files), target)
    return Plugin(target, interface, digest)


def write_symbols(table: SymbolTable) -> Path:
    """Write the plugin's symbol file into the cache, and return where it is."""
    data = symbol_file(table).encode("ascii")
    name = hashlib.sha256(data).hexdigest()[:16]
    path = cache_dir() / "symbols" / f"{name}.txt"
    if not path.is_file():
        write_atomic(path, data)
    return path


def plugin_argument(plugin: Plugin, symbols: Path, output: Path) -> str:
    """Return what QEMU's -plugin takes. Paths with a comma or a quote are refused."""
    for path in (plugin.path, symbols, output):
        # QEMU's plugin option splits at commas; how they are escaped differs by version.
        if "," in str(path):
            raise InfrastructureError(
                f"attribution cannot use a path with a comma: {path}",
                hint="choose another directory (--out, LSMETER_CACHE)",
            )
    return f"{plugin.path},syms={symbols},out={output}"


def _digest(source: Path, interface: int) -> str:
    hasher = hashlib.sha256(f"{interface} {_FLAGS}".encode())
    for path in sorted(source.glob("*.[ch]")):
        hasher.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return hasher.hexdigest()


def build_kallsyms_init() -> bytes:
    """Return the init of the guest that lists a kernel's symbols, compiled now or cached."""
    source = source_dir() / "kallsyms" / "init.c"
    digest = hashlib.sha256(source.read_bytes() + str(_INIT_FLAGS).encode()).hexdigest()
    target = cache_dir() / "plugin" / f"kallsyms-{digest[:16]}"
    if not target.is_file():
        with locked("plugin-kallsyms"):
            if not target.is_file():
                _compile((*_INIT_FLAGS, str(source)), target)
    return target.read_bytes()


def _compile(words: tuple[str, ...], target: Path) -> None:
    compiler = os.environ.get("CC", "cc")
    if shutil.which(compiler) is None:
        raise BuildError(
            f"the C compiler {compiler} is not there, and the QEMU plugin must be compiled",
            hint="install one: apt-get install gcc libc6-dev",
        )
    make_dir(target.parent)
    with tempfile.TemporaryDirectory(prefix="lsmeter-plugin-") as folder:
        output = Path(folder) / target.name
        try:
            done = subprocess.run(
                [compiler, "-o", str(output), *words],
                capture_output=True,
                text=True,
                timeout=_DEADLINE_S,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise BuildError(f"the QEMU plugin could not be compiled: {error}") from error
        if done.returncode != 0:
            raise BuildError(
                f"the QEMU plugin could not be compiled (exit status {done.returncode})",
                hint="install gcc and libc6-dev; the compiler said:",
                log_tail=tuple(done.stderr.strip().splitlines()[-20:]),
            )
        write_atomic(target, output.read_bytes())
