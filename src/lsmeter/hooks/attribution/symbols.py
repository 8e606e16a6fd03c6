# SPDX-License-Identifier: GPL-2.0-or-later
"""From a kernel's symbols (System.map or /proc/kallsyms) to the plugin's symbol file; pure.

The file says where each function starts, what kind of code it is, and whose it is. What is no
function of its own only ends the one before it: thunks and trampolines, whose instructions are
their caller's, the cold parts that the compiler moved away, and labels in entry code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from lsmeter.errors import InfrastructureError
from lsmeter.hooks.attribution.modules import assign_modules

MAX_TEXT_BYTES = 64 << 20
MAX_SYMBOLS = 2_000_000
HEADER = "lsmeter-symbols 1"

# "ffffffff81000000 T _text", and in kallsyms a module's name: "\t[ext4]".
_LINE = re.compile(r"([0-9a-f]{8,16}) ([A-Za-z?]) ([!-~]{1,511})(?:\t\[([\w-]{1,64})\])?")


class Kind(StrEnum):
    """What kind of code a symbol starts, in the letters of the symbol file."""

    FUNCTION = "f"
    SYSCALL = "s"
    FAULT = "x"
    TRAP = "t"
    INTERRUPT = "i"
    SWITCH = "w"
    START = "p"
    DEAD = "d"
    NONE = "n"


@dataclass(frozen=True)
class Symbol:
    """A function of the guest's kernel; module is "" outside the security modules."""

    addr: int
    name: str
    kind: Kind
    module: str


@dataclass(frozen=True)
class SymbolTable:
    """Every function, and what is none, by ascending address; and where the kernel's text lies."""

    text_start: int
    text_end: int
    symbols: tuple[Symbol, ...]


_SYSCALL_ENTRIES = frozenset(
    (
        *("entry_SYSCALL_64", "entry_SYSCALL_compat", "entry_SYSENTER_compat"),
        *("entry_INT80_compat", "asm_int80_emulation"),
    )
)
# Vector stubs without symbols: `push vector; jmp asm_common_interrupt`, 8 bytes apart, 16 with
# indirect branch tracking (arch/x86/include/asm/idtentry.h); a multiple of both is right too.
_STUBS = {
    "irq_entries_start": "asm_common_interrupt",
    "spurious_entries_start": "asm_spurious_interrupt",
}
_STUB_STEP = 8
_MAX_STUBS = 2 * 256
_SPECIAL = {
    **dict.fromkeys(_SYSCALL_ENTRIES, Kind.SYSCALL),
    "__switch_to_asm": Kind.SWITCH,
    # Before 6.5 it is the first code of a new task; since then a function that this code calls,
    # which the plugin tells by the call.
    **dict.fromkeys(("ret_from_fork", "ret_from_fork_asm"), Kind.START),
    "do_task_dead": Kind.DEAD,
    # Not repeated when they return: the instruction that caused them is over.
    **dict.fromkeys(("asm_exc_debug", "asm_exc_int3", "asm_exc_overflow"), Kind.TRAP),
    **dict.fromkeys(
        ("asm_exc_nmi", "asm_exc_machine_check", "asm_exc_double_fault"), Kind.INTERRUPT
    ),
}
_KINDS = (
    (re.compile(r"asm_exc_xen_.*"), Kind.FUNCTION),
    (re.compile(r"asm_exc_.*"), Kind.FAULT),
    (re.compile(r"asm_sysvec_.*|asm_(common|spurious)_interrupt"), Kind.INTERRUPT),
)
_NO_FUNCTION = re.compile(
    r"__pfx_.*|__cfi_.*|.*\.cold(\.\d+)?|"
    r"__x86_(indirect|return)_.*|__SC[TK]__.*|__fentry__|srso_.*|retbleed_.*|.*untrain_ret.*|"
    r"its_return_thunk|entry_SYSCALL_64_(safe_stack|after_hwframe)|entry_SYSRETQ_.*|"
    r"entry_SYSCALL_compat_.*|entry_SYSENTER_compat_.*|entry_INT80_compat_.*|"
    r"syscall_return_via_sysret|swapgs_restore_regs_and_return_to_usermode|"
    r"restore_regs_and_return_to_kernel|common_interrupt_return|native_(irq_return_)?iret|"
    r"native_irq_return_ldt|early_xen_iret_patch|error_return|paranoid_exit_done|"
    r"_?_?(s|e)(init|head|)text|_text|_stext|_etext|.*_text_(start|end)|__start_.*|__stop_.*|"
    r".*text_segment_.*|__kprobes_text_.*"
)


def parse_symbols(text: str, *, where: str) -> SymbolTable:
    """Read System.map or kallsyms into a table; InfrastructureError when it cannot serve.

    where names the source in errors. A System.map without addresses (distributions ship a stub)
    and a kallsyms whose addresses are hidden are refused.
    """
    found: dict[int, list[str]] = {}
    start = end = 0
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.fullmatch(line)
        if match is None or number > MAX_SYMBOLS:
            raise _refuse(f"{where}:{number}: not a line of a symbol table: {line[:60]!r}")
        addr, kind, name = int(match[1], 16), match[2], match[3]
        if name in {"_stext", "_text"}:
            start = min(start, addr) if start else addr
        elif name == "_etext":
            end = addr
        if kind in "tTwW":
            found.setdefault(addr, []).append(name)
    if not start < end:
        raise _refuse(f"{where}: no addresses of _stext and _etext")
    found = {addr: names for addr, names in found.items() if addr >= start}
    return SymbolTable(start, end, _table(found))


def symbol_file(table: SymbolTable) -> str:
    """Write the table as the plugin reads it; a module is appended to the name after an @."""
    lines = [f"{HEADER} {table.text_start:x} {table.text_end:x} {len(table.symbols)}"]
    for symbol in table.symbols:
        owner = f"@{symbol.module}" if symbol.module else ""
        lines.append(f"{symbol.addr:x} {symbol.kind} {symbol.name}{owner}")
    return "\n".join(lines) + "\n"


def kind_of(name: str) -> Kind:
    """Say what kind of code starts at a symbol of Linux on x86_64."""
    if name in _SPECIAL:
        return _SPECIAL[name]
    for pattern, kind in _KINDS:
        if pattern.fullmatch(name):
            return kind
    return Kind.FUNCTION


def _table(found: dict[int, list[str]]) -> tuple[Symbol, ...]:
    named = [(addr, _preferred(names)) for addr, names in sorted(found.items())]
    functions = [(addr, name) for addr, name in named if name]
    modules = assign_modules([name for _, name in functions])
    symbols = {addr: Symbol(addr, names[0], Kind.NONE, "") for addr, names in found.items()}
    for (addr, name), module in zip(functions, modules, strict=True):
        symbols[addr] = Symbol(addr, name, kind_of(name), module)
    for addr, name in _stubs(found):
        symbols[addr] = Symbol(addr, name, Kind.INTERRUPT, "")
    return tuple(symbols[addr] for addr in sorted(symbols))


def _stubs(found: dict[int, list[str]]) -> Iterable[tuple[int, str]]:
    """Name each place at which an interrupt's vector may lead into the kernel."""
    addresses = sorted(found)
    for index, addr in enumerate(addresses[:-1]):
        for name in found[addr]:
            if name not in _STUBS:
                continue
            stop = min(addresses[index + 1], addr + _MAX_STUBS * _STUB_STEP)
            for stub in range(addr, stop, _STUB_STEP):
                yield stub, _STUBS[name]


def _preferred(names: Sequence[str]) -> str:
    """Choose one of several names for an address; "" when none is a function's.

    The one with the fewest leading underscores, then the shortest, then the first by alphabet.
    """
    functions = [name for name in names if not _NO_FUNCTION.fullmatch(name)]
    # An address that is a thunk under one of its names stays one.
    if not functions or any(re.match(r"__x86_(indirect|return)_", name) for name in names):
        return ""
    return min(functions, key=lambda name: (len(name) - len(name.lstrip("_")), len(name), name))


def _refuse(title: str) -> InfrastructureError:
    return InfrastructureError(
        title,
        hint="attribution needs the System.map of the build, or /proc/kallsyms read by root "
        "with kernel.kptr_restrict=0",
    )
