# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds and runs the guest whose every instruction is known (guest.S)."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from lsmeter.core.model.arch import Kind
from lsmeter.machines.plugin import Symbol, SymbolTable, build_plugin, symbol_file
from lsmeter.questions.attribution.profile import Profile, Tree, parse_profile
from tests.conftest import DEADLINE_S

HERE = Path(__file__).parent
SHIFT = 4
TEXT_START, TEXT_END = 0x200000, 0x210000
_KINDS = {
    "sys_entry": Kind.SYSCALL,
    "fault_entry": Kind.FAULT,
    "irq_entry": Kind.INTERRUPT,
    "irq_stack_entry": Kind.INTERRUPT,
    "irq_moving_entry": Kind.INTERRUPT,
    "irq_apic": Kind.INTERRUPT,
    "switch_stacks": Kind.SWITCH,
    "switch_far": Kind.SWITCH,
    "task_start": Kind.START,
    "task_dead": Kind.DEAD,
    "indirect_thunk": Kind.NONE,
    "return_thunk": Kind.NONE,
}

# A tree as a dictionary: name to (calls, own instructions, what it called).
Calls = dict[str, tuple[int, int, "Calls"]]


@dataclass(frozen=True)
class Run:
    """What one guest gave: the plugin's profile, and the TSC differences in instructions."""

    profile: Profile | None
    tsc_insns: dict[int, Counter[int]]
    tsc: bytes
    stderr: str
    exit_code: int


def qemus() -> list[str]:
    """Return the QEMU of this machine, and the one that LSMETER_QEMU names besides."""
    named = os.environ.get("LSMETER_QEMU")
    return ["qemu-system-x86_64", *([named] if named else [])]


def qemu_version(qemu: str) -> str:
    said = subprocess.run([qemu, "--version"], capture_output=True, text=True, check=True).stdout
    return said.partition("version ")[2].splitlines()[0]


def build_guest(folder: Path) -> Path:
    for program in ("gcc", "ld", "nm"):
        assert shutil.which(program), f"{program} is not installed"
    elf = folder / "guest.elf"
    obj = folder / "guest.o"
    script = ["-z", "noexecstack", "--no-warn-rwx-segments", "-T", str(HERE / "guest.ld")]
    for words in (
        ["gcc", "-c", "-Wall", "-Werror", "-o", str(obj), str(HERE / "guest.S")],
        ["ld", "-nostdlib", "-static", *script, "-o", str(elf), str(obj)],
    ):
        subprocess.run(words, check=True)
    return elf


def guest_symbols(elf: Path) -> SymbolTable:
    said = subprocess.run(["nm", "-n", str(elf)], capture_output=True, text=True, check=True)
    found = {}
    for line in said.stdout.splitlines():
        addr, _, name = line.split()
        if TEXT_START <= int(addr, 16) < TEXT_END:
            kind = _KINDS.get(name, Kind.FUNCTION)
            found[int(addr, 16)] = Symbol(int(addr, 16), name, kind, "")
    return SymbolTable(TEXT_START, TEXT_END, tuple(found[addr] for addr in sorted(found)))


def run_guest(
    qemu: str,
    elf: Path,
    folder: Path,
    *,
    plugin: bool = True,
    events: bool = False,
    argument: str | None = None,
) -> Run:
    """Run the guest to its end. argument replaces what the plugin is given.

    With events, the file `events` in the folder has those of each sample.
    """
    tsc, out, symbols = folder / "tsc", folder / "out", folder / "symbols"
    symbols.write_text(symbol_file(guest_symbols(elf)))
    words = [
        qemu,
        *("-M", "microvm,x-option-roms=off,rtc=on", "-bios", "qboot.rom"),
        *("-accel", "tcg,thread=single", "-icount", f"shift={SHIFT},sleep=off"),
        *("-cpu", "max,-erms", "-m", "64", "-nodefaults", "-no-user-config", "-no-reboot"),
        *("-display", "none", "-seed", "1", "-kernel", str(elf)),
        *("-chardev", f"file,id=tsc,path={tsc}"),
        *("-device", "isa-debugcon,iobase=0xe9,chardev=tsc"),
    ]
    if plugin:
        given = f",syms={symbols},out={out}" if argument is None else argument
        given += f",events={folder}/events" if events else ""
        built = build_plugin("attribution", qemu_version(qemu))
        words += ["-plugin", f"{built.path}{given}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    data = tsc.read_bytes() if tsc.is_file() else b""
    insns: dict[int, Counter[int]] = defaultdict(Counter)
    for offset in range(0, len(data), 9):
        region, ticks = struct.unpack_from("<BQ", data, offset)
        insns[region][ticks >> SHIFT] += 1
    profile = parse_profile(out.read_text(), where=str(out)) if out.is_file() else None
    return Run(profile, dict(insns), data, done.stderr, done.returncode)


def calls(tree: Tree) -> Calls:
    """Turn a tree into nested dictionaries; roots that were never charged are left out."""
    levels: list[Calls] = []
    top: Calls = {}
    for node in tree.nodes:
        level = levels[node.parent] if node.parent >= 0 else top
        below: Calls = {}
        level[node.function.name] = (node.calls, node.self_insns, below)
        levels.append(below)
    return {name: what for name, what in top.items() if what[1] or what[2]}
