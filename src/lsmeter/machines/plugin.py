# SPDX-License-Identifier: GPL-2.0-or-later
"""What QEMU's plugins need: their own code, and the symbols of the guest's kernel.

The interface of plugins changed between versions of QEMU and distributions ship no header
(plugin/qemu_api.h). Wheels have plugins for the versions of some distributions; for all others
they are compiled on this host.

Symbols are in the kernel's System.map, or a guest of it that does nothing else lists
/proc/kallsyms: distributions ship System.map as a stub. That takes some seconds, once for each
kernel. A plugin's file says where each function starts, what kind of code it is, and whose it
is. What is no function of its own only ends the one before it: thunks and trampolines, whose
instructions are their caller's, the cold parts that the compiler moved away, and labels in entry
code.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import cycle, pairwise
from pathlib import Path

from lsmeter.core import process
from lsmeter.core.errors import BootError, BuildError, InfrastructureError, LsmeterError
from lsmeter.core.inputs import read_file
from lsmeter.core.limits import Limits
from lsmeter.core.model import Conditions, Kernel, Setup
from lsmeter.core.model.arch import ARCHES, Arch, EntryCode, Kind, arch_of_host
from lsmeter.core.scratch import scratch
from lsmeter.core.storage import cache_dir, is_sealed, reading, write_sealed
from lsmeter.guest.conclude import clean_lines, tail
from lsmeter.guest.initramfs import base
from lsmeter.guest.probe import SHIPPED, Program
from lsmeter.machines.description import counted_guest
from lsmeter.machines.plugin_sources import (
    Recipe,
    compiler_for,
    kallsyms_recipe,
    plugin_interface,
    plugin_recipe,
)
from lsmeter.machines.qemu import run_guest
from lsmeter.sources.kernels.functions import assign_modules

MAX_TEXT_BYTES = 64 << 20
MAX_SYMBOLS = 2_000_000
HEADER = "lsmeter-symbols 1"

# "ffffffff81000000 T _text", and in kallsyms a module's name: "\t[ext4]".
_LINE = re.compile(r"([0-9a-f]{8,16}) ([A-Za-z?]) ([!-~]{1,511})(?:\t\[([\w-]{1,64})\])?")
_SILENCE_S = 120.0  # from its start to the first symbol the guest says nothing
_END = b"eof\n"
# Listing needs no module, and with one fewer it cannot be refused by lockdown.
_SETUP = Setup(name="capability", title="", lsms=("capability",))

_locks: dict[str, asyncio.Lock] = {}


def build_plugin(name: str, qemu_version: str, *, build: bool = True) -> Program:
    """Return the plugin of the folder `name`; without build, named where it would be compiled."""
    recipe = plugin_recipe(name, plugin_interface(qemu_version))
    return _built(recipe, compiler_for(arch_of_host()), build=build)


def kallsyms_init(arch: Arch) -> Program:
    """Return the init of the guest that lists its symbols."""
    return _built(kallsyms_recipe(arch), compiler_for(arch))


def _built(recipe: Recipe, compiler: str, *, build: bool = True) -> Program:
    """Return what was shipped with this package, is in the cache, or is compiled now."""
    if (shipped := SHIPPED / recipe.name).is_file():
        return Program(shipped, recipe.sha256)
    built = Program(cache_dir() / "plugin" / recipe.name, recipe.sha256)
    if not build or is_sealed(built.path):
        return built
    with scratch("plugin") as folder:
        output = folder / "built"
        try:
            process.output([compiler, "-o", str(output), *recipe.arguments])
        except LsmeterError as error:
            raise BuildError(
                f"the QEMU plugin could not be compiled: {error.title}",
                hint="install a compiler: apt-get install gcc libc6-dev",
                log_tail=error.log_tail,
            ) from error
        write_sealed(built.path, output.read_bytes())
    return built


@dataclass(frozen=True)
class Symbol:
    """A function of the guest's kernel; module is "" outside the security modules."""

    addr: int
    name: str
    kind: Kind
    module: str


@dataclass(frozen=True)
class SymbolTable:
    """The kernel's text and symbols by address; avc_stats: that of SELinux's counters, if any."""

    text_start: int
    text_end: int
    symbols: tuple[Symbol, ...]
    avc_stats: int | None = None


async def kernel_symbols(kernel: Kernel, limits: Limits) -> tuple[Path, int | None]:
    """Return the plugin's file of the symbols of `kernel` (nokaslr), and where avc_stats are.

    A guest under these limits lists them if need be.
    """
    path, arch = kernel.system_map, ARCHES[kernel.arch]
    if path is None:
        path = listed_symbols(kernel)
        async with _locks.setdefault(kernel.image_sha256, asyncio.Lock()):
            if not is_sealed(path):
                write_sealed(path, await _ask_guest(kernel, limits))
    with reading(path, kind=InfrastructureError):
        text = read_file(path, MAX_TEXT_BYTES, "a symbol table").decode("ascii", "replace")
    data, avc_stats = _for_plugin(text, arch.entry, str(path))
    return write_symbols(data), avc_stats


def listed_symbols(kernel: Kernel) -> Path:
    """Return where the symbols are kept that a guest of `kernel` has listed."""
    return cache_dir() / "symbols" / f"listed-{kernel.image_sha256[:16]}.txt"


@lru_cache(maxsize=2)  # boots of a kernel follow each other, and each would take a second
def _for_plugin(text: str, entry: EntryCode, where: str) -> tuple[bytes, int | None]:
    table = parse_symbols(text, entry, where=where)
    return symbol_file(table).encode("ascii"), table.avc_stats


def write_symbols(data: bytes) -> Path:
    """Write the plugin's symbol file into the cache, and return where it is."""
    path = cache_dir() / "symbols" / f"{hashlib.sha256(data).hexdigest()[:16]}.txt"
    if not is_sealed(path):
        write_sealed(path, data)
    return path


async def _ask_guest(kernel: Kernel, limits: Limits) -> bytes:
    arch = ARCHES[kernel.arch]
    guest = counted_guest(kernel, _SETUP, Conditions(cpu=arch.cpu), seed=1)
    guest = replace(guest, bulk=bool(arch.bulk))  # it is much faster than a serial line
    limits = replace(limits, silence_s=_SILENCE_S, results_bytes=MAX_TEXT_BYTES)
    capture = await run_guest(guest, base(kallsyms_init(arch).path.read_bytes()), limits)
    if not capture.results.endswith(_END):
        needs = ("CONFIG_KALLSYMS", "CONFIG_PROC_FS", arch.bulk_needs)
        how = f"{capture.ending.value} after {capture.wall_s:.0f} s"
        raise BootError(
            f"a guest of {kernel.name} did not list its symbols ({how})",
            hint=f"attribution needs {', '.join(filter(None, needs))}, or a System.map beside the "
            "image",
            log_tail=tail(clean_lines(capture.console + b"\n" + capture.stderr.encode())),
        )
    return capture.results.removesuffix(_END)


def parse_symbols(text: str, entry: EntryCode, *, where: str) -> SymbolTable:
    """Read System.map or kallsyms; InfrastructureError, with `where`, for one without addresses."""
    found: dict[int, list[str]] = {}
    start = end = 0
    avc_stats = None
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.fullmatch(line)
        if match is None or number > MAX_SYMBOLS:
            raise _refuse(f"{where}:{number}: not a line of a symbol table: {line[:60]!r}")
        addr, kind, name = int(match[1], 16), match[2], match[3]
        if name in {"_stext", "_text"}:
            start = min(start, addr) if start else addr
        elif name == "_etext":
            end = addr
        elif name == "avc_cache_stats":
            avc_stats = addr
        if kind in "tTwW":
            found.setdefault(addr, []).append(name)
    if not start < end:
        raise _refuse(f"{where}: no addresses of _stext and _etext")
    found = {addr: names for addr, names in found.items() if addr >= start}
    return SymbolTable(start, end, _table(found, entry), avc_stats)


def symbol_file(table: SymbolTable) -> str:
    """Write the table as the plugin reads it; a module is appended to the name after an @."""
    lines = [f"{HEADER} {table.text_start:x} {table.text_end:x} {len(table.symbols)}"]
    for symbol in table.symbols:
        owner = f"@{symbol.module}" if symbol.module else ""
        lines.append(f"{symbol.addr:x} {symbol.kind} {symbol.name}{owner}")
    return "\n".join(lines) + "\n"


def kind_of(name: str, entry: EntryCode) -> Kind:
    """Say what kind of code starts at a symbol of Linux."""
    found = entry.kinds.fullmatch(name)
    return Kind[found.lastgroup] if found and found.lastgroup else Kind.FUNCTION


def _table(found: dict[int, list[str]], entry: EntryCode) -> tuple[Symbol, ...]:
    named = ((addr, _preferred(names, entry)) for addr, names in sorted(found.items()))
    functions = {addr: name for addr, name in named if name}
    modules = assign_modules([*functions.values()])
    symbols = {addr: Symbol(addr, names[0], Kind.NONE, "") for addr, names in found.items()}
    for (addr, name), module in zip(functions.items(), modules, strict=True):
        symbols[addr] = Symbol(addr, name, kind_of(name, entry), module)
    for addr, name in _stubs(found, entry):
        symbols[addr] = Symbol(addr, name, kind_of(name, entry), "")
    return tuple(symbols[addr] for addr in sorted(symbols))


def _stubs(found: dict[int, list[str]], entry: EntryCode) -> Iterable[tuple[int, str]]:
    """Name each place at which a vector may lead into the kernel."""
    for addr, following in pairwise(sorted(found)):
        for name in entry.stubs.keys() & set(found[addr]):
            stop = min(following, addr + entry.max_stubs * entry.stub_bytes)
            yield from zip(range(addr, stop, entry.stub_bytes), cycle(entry.stubs[name]))


def _preferred(names: Sequence[str], entry: EntryCode) -> str:
    """Choose one of several names for an address; "" when none is a function's."""
    functions = [name for name in names if not entry.no_function.fullmatch(name)]
    if not functions or any(entry.thunk.fullmatch(name) for name in names):
        return ""
    return min(functions, key=lambda name: (len(name) - len(name.lstrip("_")), len(name), name))


def _refuse(title: str) -> InfrastructureError:
    return InfrastructureError(
        title,
        hint="attribution needs the System.map of the build, or /proc/kallsyms read by root "
        "with kernel.kptr_restrict=0",
    )
