# SPDX-License-Identifier: GPL-2.0-or-later
"""Gets the symbols of a kernel: its System.map, or what a guest of it says in /proc/kallsyms.

Distributions ship System.map as a stub. A guest that does nothing but list its symbols takes
some seconds, once per kernel: the answer is cached by the image's hash.
"""

from __future__ import annotations

import asyncio
import stat
from dataclasses import replace
from pathlib import Path

from lsmeter.errors import BootError, InfrastructureError
from lsmeter.guest.initramfs import CONSOLE, Entry, archive, directory, file
from lsmeter.hooks.attribution.plugin import build_kallsyms_init
from lsmeter.hooks.attribution.symbols import MAX_TEXT_BYTES, SymbolTable, parse_symbols
from lsmeter.limits import Limits
from lsmeter.model import Conditions, Kernel, Setup
from lsmeter.qemu.command import Channels, GuestStart, exact_arguments, kernel_cmdline
from lsmeter.qemu.program import run_qemu
from lsmeter.storage import cache_dir, write_atomic

_SILENCE_S = 120.0  # from its start to the first symbol the guest says nothing
_END = b"eof\n"
_SERIAL = "isa-serial,chardev=results,iobase=0x2f8,irq=3"
_DEBUG_PORT = "isa-debugcon,chardev=results,iobase=0xe9"
# Listing needs no module, and with one fewer it cannot be refused by lockdown.
_SETUP = Setup(name="capability", title="", lsms=("capability",))

_locks: dict[str, asyncio.Lock] = {}


async def kernel_symbols(kernel: Kernel, limits: Limits) -> SymbolTable:
    """Return the symbols of `kernel` as its guests have them (nokaslr).

    limits are those of the guest that is asked, where one has to be.

    BootError when a guest of it does not list them; InfrastructureError when the list is no
    symbol table.
    """
    if kernel.system_map is not None:
        return parse_symbols(_read(kernel.system_map), where=str(kernel.system_map))
    path = cache_dir() / "symbols" / f"kallsyms-{kernel.image_sha256[:16]}.txt"
    async with _locks.setdefault(kernel.image_sha256, asyncio.Lock()):
        if not path.is_file():
            write_atomic(path, await _ask_guest(kernel, limits))
    return parse_symbols(_read(path), where=str(path))


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_TEXT_BYTES:
            raise InfrastructureError(f"{path}: larger than {MAX_TEXT_BYTES} bytes")
        return path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise InfrastructureError(f"cannot read {path}: {error.strerror}") from error


async def _ask_guest(kernel: Kernel, limits: Limits) -> bytes:
    limits = replace(limits, silence_s=_SILENCE_S, results_bytes=MAX_TEXT_BYTES)
    initrd = archive(
        (
            directory("dev"),
            Entry("dev/console", stat.S_IFCHR | 0o600, device=CONSOLE),
            file("init", build_kallsyms_init(), 0o755),
        )
    )
    conditions = Conditions()
    guest = GuestStart(
        boot_protocol=kernel.boot_protocol,
        image=str(kernel.image),
        cmdline=kernel_cmdline(_SETUP, conditions),
        conditions=conditions,
        seed=1,
    )

    def arguments(channels: Channels) -> tuple[str, ...]:
        # The debug port takes a whole buffer at once; a serial line would take minutes.
        words = exact_arguments(guest, channels)
        return tuple(_DEBUG_PORT if word == _SERIAL else word for word in words)

    capture = await run_qemu(arguments, initrd, limits, lambda _: None)
    if not capture.results.endswith(_END):
        console = capture.console.decode(errors="replace").splitlines()
        raise BootError(
            f"a guest of {kernel.name} did not list its symbols ({capture.ending.value})",
            hint="attribution needs CONFIG_KALLSYMS, CONFIG_PROC_FS and CONFIG_X86_IOPL_IOPERM, "
            "or a System.map beside the image",
            log_tail=tuple(console[-10:]),
        )
    return capture.results.removesuffix(_END)
