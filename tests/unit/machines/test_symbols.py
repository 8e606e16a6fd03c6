# SPDX-License-Identifier: GPL-2.0-or-later
"""Symbols of kernels: what is a function, of which kind, and whose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.errors import InfrastructureError
from lsmeter.core.model.arch import ARM64_ENTRY, X86_ENTRY, Kind
from lsmeter.machines.plugin import kind_of, parse_symbols, symbol_file
from lsmeter.sources.kernels.functions import assign_modules, is_hook

TEXT = """\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000000 T startup_64
ffffffff81000100 T irq_entries_start
ffffffff81000110 T spurious_entries_start
ffffffff81000118 T asm_exc_page_fault
ffffffff81000140 T entry_SYSCALL_64
ffffffff81000180 T entry_SYSCALL_64_after_hwframe
ffffffff81000200 T __x86_indirect_thunk_array
ffffffff81000200 T __x86_indirect_thunk_rax
ffffffff81000300 T memcpy
ffffffff81000300 W __memcpy
ffffffff81000400 t may_open.cold
ffffffff81000500 T security_file_open
ffffffff81000600 t selinux_inode_permission
ffffffff81000700 t may_create
ffffffff81000800 t selinux_inode_create
ffffffff81000900 t may_create
ffffffff81000a00 t smack_inode_permission
ffffffff81010000 T _etext
ffffffff82000000 D some_data
ffffffffc0001000 t ext4_lookup\t[ext4]
"""


def test_reads_a_kernel() -> None:
    table = parse_symbols(TEXT, X86_ENTRY, where="map")
    assert (table.text_start, table.text_end) == (0xFFFFFFFF81000000, 0xFFFFFFFF81010000)
    assert symbol_file(table) == (
        "lsmeter-symbols 1 ffffffff81000000 ffffffff81010000 18\n"
        "ffffffff81000000 f startup_64\n"
        "ffffffff81000100 i asm_common_interrupt\n"
        "ffffffff81000108 i asm_common_interrupt\n"
        "ffffffff81000110 i asm_spurious_interrupt\n"
        "ffffffff81000118 x asm_exc_page_fault\n"
        "ffffffff81000140 s entry_SYSCALL_64\n"
        "ffffffff81000180 n entry_SYSCALL_64_after_hwframe\n"
        "ffffffff81000200 n __x86_indirect_thunk_array\n"
        "ffffffff81000300 f memcpy\n"
        "ffffffff81000400 n may_open.cold\n"
        "ffffffff81000500 f security_file_open@framework\n"
        "ffffffff81000600 f selinux_inode_permission@selinux\n"
        "ffffffff81000700 f may_create@selinux\n"
        "ffffffff81000800 f selinux_inode_create@selinux\n"
        "ffffffff81000900 f may_create\n"
        "ffffffff81000a00 f smack_inode_permission@smack\n"
        "ffffffff81010000 n _etext\n"
        "ffffffffc0001000 f ext4_lookup\n"
    )


ARM64_TEXT = """\
ffff800080010000 T _stext
ffff800080010800 T vectors
ffff800080011000 t __bad_stack
ffff8000800113c0 t el0t_64_sync
ffff8000800120e8 t ret_to_user
ffff800080012800 T __bp_harden_el1_vectors
ffff800080014000 T __entry_text_end
ffff800080015f30 T cpu_switch_to
ffff800080015fb0 T ret_from_fork
ffff800080016000 T __pi_memcpy
ffff800080016000 W memcpy
ffff800080017000 T el0t_64_sync_handler
ffff800081010000 D _etext
"""


def test_vectors_of_arm64_say_what_led_there() -> None:
    table = parse_symbols(ARM64_TEXT, ARM64_ENTRY, where="map")
    found = {symbol.addr & 0xFFFFF: (symbol.name, symbol.kind) for symbol in table.symbols}
    assert found[0x10A00] == ("el1h_64_sync", Kind.SYNC)
    assert found[0x10C00] == ("el0t_64_sync", Kind.SYNC)
    assert found[0x10C80] == ("el0t_64_irq", Kind.INTERRUPT)
    # The three tables of the processors that clear the history of branches.
    assert [found[at] for at in (0x12C00, 0x13400, 0x13C00)] == [found[0x10C00]] * 3
    assert len([kind for _, kind in found.values() if kind is Kind.INTERRUPT]) == 4 * 12
    # What a vector leads on to is part of it, as is the way back.
    assert found[0x113C0] == ("el0t_64_sync", Kind.NONE)
    assert found[0x120E8] == ("ret_to_user", Kind.NONE)
    functions = {name: kind for name, kind in found.values() if not name.startswith("el")}
    assert functions["cpu_switch_to"] is Kind.SWITCH
    assert functions["ret_from_fork"] is Kind.START
    assert functions["memcpy"] is Kind.FUNCTION
    assert found[0x17000] == ("el0t_64_sync_handler", Kind.FUNCTION)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("vfs_open", Kind.FUNCTION),
        ("entry_SYSCALL_compat", Kind.SYSCALL),
        ("asm_exc_general_protection", Kind.FAULT),
        ("asm_exc_int3", Kind.TRAP),
        ("asm_exc_nmi", Kind.INTERRUPT),
        ("asm_sysvec_apic_timer_interrupt", Kind.INTERRUPT),
        ("asm_common_interrupt", Kind.INTERRUPT),
        ("asm_exc_xen_unknown_trap", Kind.FUNCTION),
        ("__switch_to_asm", Kind.SWITCH),
        ("ret_from_fork_asm", Kind.START),
        ("do_task_dead", Kind.DEAD),
    ],
)
def test_kinds(name: str, kind: Kind) -> None:
    assert kind_of(name, X86_ENTRY) is kind


@pytest.mark.parametrize(
    ("name", "hook"),
    [
        ("security_inode_permission", True),
        ("security_inode_permission.part.0", True),
        ("security_compute_av", False),
        ("security_sid_to_context", False),
        ("security_add_hooks", False),
        ("security_initcall_early", False),
        ("security_initcall_late", False),
        ("security_initialised", True),
        ("security_show", False),
        ("selinux_inode_permission", False),
    ],
)
def test_hooks_are_the_frameworks(name: str, hook: bool) -> None:  # noqa: FBT001
    assert is_hook(name) is hook


def test_modules_by_place() -> None:
    names = ["vfs_open", "avc_init", "latent", "selinux_init", "other", "cap_capable", "aa_init"]
    assert assign_modules(names) == (
        "",
        "selinux",
        "selinux",
        "selinux",
        "",
        "capability",
        "apparmor",
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no addresses of _stext"),
        ("ffffffffffffffff B The real System.map is in the debug package\n", ":1: not a line"),
        ("0000000000000000 T _stext\n0000000000000000 T _etext\n", "no addresses of _stext"),
        ("ffffffff81000000 T _stext\n", "no addresses of _stext"),
        ("zzz\n", ":1: not a line of a symbol table"),
    ],
)
def test_useless_symbols_are_refused(text: str, reason: str) -> None:
    with pytest.raises(InfrastructureError, match=reason) as caught:
        parse_symbols(text, X86_ENTRY, where="map")
    assert "kallsyms" in caught.value.hint


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(InfrastructureError, match="map"):
        parse_symbols(text, X86_ENTRY, where="map")


@given(st.lists(st.sampled_from(TEXT.splitlines()[3:20]), unique=True))
def test_symbol_files_ascend(lines: list[str]) -> None:
    edges = [TEXT.splitlines()[1], TEXT.splitlines()[-3]]
    table = parse_symbols("\n".join([*lines, *edges]), X86_ENTRY, where="map")
    addresses = [symbol.addr for symbol in table.symbols]
    assert addresses == sorted(set(addresses))
