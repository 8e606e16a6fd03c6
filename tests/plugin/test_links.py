# SPDX-License-Identifier: GPL-2.0-or-later
"""Where calls keep their return address in a register, functions are followed all the same."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S

PLUGIN = Path(__file__).parents[2] / "plugin"
SOURCES = ("attribution/shadow.c", "attribution/links.c", "attribution/calltree.c")
# A system call that calls do_open, which calls a hook; then what is done, and the way back.
HEAD = "run 10\nenter s el0t_64_sync\nrun 5\ncall 100\nenter f do_open\nrun 7\n"
TAIL = "return\nback 100\nrun 3\neret\nuser\nrun 2\n"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("links") / "links"
    parts = (path for part in ("arch", "events") for path in (PLUGIN / part).glob("*.c"))
    sources = [*(PLUGIN / name for name in SOURCES), *parts]
    flags = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-DLSMETER_PLUGIN_API=1")
    drop = ("-ffunction-sections", "-Wl,--gc-sections", f"-I{PLUGIN}", f"-I{PLUGIN}/attribution")
    files = (*map(str, sources), str(Path(__file__).with_name("links.c")))
    subprocess.run(["gcc", *flags, *drop, *files, "-o", str(out)], check=True, timeout=DEADLINE_S)
    return out


def play(program: Path, script: str) -> list[str]:
    done = subprocess.run(
        [program], input=script, capture_output=True, text=True, check=True, timeout=DEADLINE_S
    )
    return done.stdout.splitlines()


def followed(program: Path, middle: str) -> list[str]:
    """Play a system call with this in its middle; return what lies below it, and the sum."""
    lines = play(program, HEAD + middle + TAIL)
    total = lines.pop().split()
    assert total[1] == total[3], lines
    assert total[4:] == []
    return [line for line in lines if not line.startswith("[region] ")]


def test_a_call_and_its_return(program: Path) -> None:
    assert followed(program, "call 200\nenter f hook\nrun 4\nreturn\nback 200\nrun 2\n") == [
        "el0t_64_sync do_open 1 11",
        "do_open hook 1 5",
    ]


def test_a_tail_call_returns_to_the_caller_of_its_caller(program: Path) -> None:
    middle = "call 200\nenter f hook\nrun 4\nenter f module\nrun 6\nreturn\nback 200\nrun 2\n"
    assert followed(program, middle) == [
        "el0t_64_sync do_open 1 11",
        "do_open hook 1 4",
        "hook module 1 7",
    ]


def test_an_interrupt_between_a_return_and_where_it_leads(program: Path) -> None:
    interrupt = "enter i el1h_64_irq\nrun 8\ncall 900\nenter f handler\nreturn\nback 900\neret\n"
    middle = f"call 200\nenter f hook\nrun 4\nreturn\n{interrupt}back 200\nrun 2\n"
    assert followed(program, middle) == [
        "el0t_64_sync do_open 1 11",
        "do_open hook 1 5",
        "[interrupt] el1h_64_irq 1 10",
        "el1h_64_irq handler 1 1",
    ]


def test_a_branch_to_what_follows_a_call_is_no_return(program: Path) -> None:
    middle = "call 200\nenter f hook\nrun 4\nback 100\nrun 6\nreturn\nback 200\nrun 2\n"
    assert followed(program, middle) == ["el0t_64_sync do_open 1 11", "do_open hook 1 11"]


def test_a_return_over_several_calls_leaves_all_of_them(program: Path) -> None:
    middle = "call 200\nenter f one\ncall 300\nenter f two\nrun 4\nreturn\nback 200\nrun 2\n"
    assert followed(program, middle) == [
        "el0t_64_sync do_open 1 11",
        "do_open one 1 1",
        "one two 1 5",
    ]


def test_each_task_has_its_calls(program: Path) -> None:
    def switch(one: str, other: str) -> str:
        return f"call 400\nenter w cpu_switch_to\nswitch {one} {other}\nrun 2\nreturn\n"

    other = "enter p ret_from_fork\nrun 3\ncall 500\nenter f kthread\nrun 9\n"
    middle = switch("a000", "b000") + other + switch("b000", "a000") + "back 400\nrun 2\n"
    assert followed(program, middle) == [
        "el0t_64_sync do_open 1 11",
        "do_open cpu_switch_to 1 3",
        "ret_from_fork kthread 1 10",
        "kthread cpu_switch_to 1 3",
    ]


def test_a_task_that_was_in_the_kernel_before(program: Path) -> None:
    switch = "call 400\nenter w cpu_switch_to\nswitch a000 b000\nrun 2\nreturn\n"
    back = "call 700\nenter w cpu_switch_to\nswitch b000 a000\nrun 1\nreturn\nback 400\n"
    found = followed(program, switch + "back 600\nrun 5\n" + back)
    assert found == [
        "el0t_64_sync do_open 1 9",
        "do_open cpu_switch_to 1 3",
        "[resumed] cpu_switch_to 1 2",
    ]


@pytest.mark.parametrize(
    ("word", "step"),
    [
        ("94000010", "call"),  # bl
        ("d63f0020", "call"),  # blr x1
        ("d63f081f", "call"),  # blraaz x0
        ("d73f0801", "call"),  # blraa x0, x1
        ("d61f0200", "next"),  # br x16
        ("14000010", "next"),  # b
        ("d65f03c0", "return"),  # ret
        ("d65f0bff", "return"),  # retaa
        ("d65f0fff", "return"),  # retab
        ("d69f03e0", "eret"),
        ("d4000001", "svc"),
        ("d4210000", "brk"),
        ("d4000002", "next"),  # hvc #0
        ("d503245f", "next"),  # bti c
        ("d503233f", "next"),  # paciasp
        ("d503201f", "next"),  # nop
        ("00000000", "next"),
    ],
)
def test_instructions_that_lead_elsewhere(program: Path, word: str, step: str) -> None:
    assert play(program, f"classify {word}\n") == [step]


@pytest.mark.parametrize(
    ("word", "kinds"),
    [
        ("f9400000", "insns"),  # ldr x0, [x0]
        ("94000010", "insns direct_calls"),
        ("d63f0020", "insns indirect_calls"),
        ("d73f0801", "insns indirect_calls"),  # blraa
        ("d61f0200", "insns indirect_jumps"),
        ("d65f03c0", "insns returns"),
        ("d65f0bff", "insns returns"),  # retaa
        ("14000010", "insns"),  # b
        ("54000040", "insns branches"),  # b.eq
        ("b4000040", "insns branches"),  # cbz
        ("37000040", "insns branches"),  # tbnz
        ("b8e10002", "insns locked"),  # ldaddal
        ("88a07c41", "insns locked"),  # cas
        ("c8a1fc22", "insns locked"),  # casl
        ("48207c82", "insns locked"),  # casp
        ("885f7c20", "insns"),  # ldxr
        ("88027c20", "insns locked"),  # stxr
        ("b8bfc020", "insns"),  # ldapr
        ("c8dffc20", "insns"),  # ldar
        ("d5033fdf", "insns serialising"),  # isb
        ("d5033bbf", "insns serialising"),  # dmb ish
        ("d5033b9f", "insns serialising"),  # dsb ish
        ("d50342df", "insns if_switches"),  # msr daifset, #2
        ("d51b4221", "insns if_switches"),  # msr daif, x1
        ("d500419f", "insns smap_switches"),  # msr pan, #1
        ("d4000001", "insns mode_switches"),  # svc
        ("d69f03e0", "insns serialising mode_switches"),  # eret
        ("9ac20820", "insns divides"),  # udiv
        ("9b027c20", "insns"),  # mul
        ("d503233f", "insns"),  # paciasp
        ("d503201f", "insns"),  # nop
    ],
)
def test_what_an_instruction_is_counted_as(program: Path, word: str, kinds: str) -> None:
    assert play(program, f"decode {word}\n") == [kinds]
