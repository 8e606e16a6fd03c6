# SPDX-License-Identifier: GPL-2.0-or-later
"""Instructions that wait for each other take longer than as many that do not."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S

PLUGIN = Path(__file__).parents[2] / "plugin"
HERE = Path(__file__).parent
_BYTES = re.compile(r"^ +[0-9a-f]+:\t((?:[0-9a-f]{2} )+)", re.MULTILINE)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dataflow") / "dataflow"
    sources = [PLUGIN / f"events/{name}.c" for name in ("dataflow", "decode_x86", "operands_x86")]
    words = ("gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", f"-I{PLUGIN}")
    command = (*words, "-o", str(out), *map(str, sources), str(HERE / "dataflow.c"))
    subprocess.run(command, check=True, timeout=DEADLINE_S)
    return out


def cycles(program: Path, folder: Path, code: str) -> int:
    """Assemble code, and run it instruction by instruction."""
    made = folder / "code.o"
    subprocess.run(["as", "-o", str(made), "-"], input=code.encode(), check=True)
    listed = subprocess.run(
        ["objdump", "-dw", str(made)], capture_output=True, text=True, check=True
    ).stdout
    lines = "\n".join(found.replace(" ", "") for found in _BYTES.findall(listed))
    done = subprocess.run([program], input=f"{lines}\n", capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.parametrize(
    ("code", "times", "expected"),
    [
        ("nop", 400, 100),
        ("add $1, %rax", 400, 400),
        ("add $1, %rax; add $1, %rbx; add $1, %r8; add $1, %r15", 100, 100),
        ("imul %rax, %rax", 100, 300),
        ("imul %r9, %r10; imul %r10, %r9", 100, 600),
        ("imul $3, %r9, %r10; imul $3, %r10, %r9", 50, 300),
        ("mov (%rax), %rax", 50, 250),
        ("mov 8(%rbx,%r12,8), %r12", 50, 250),
        ("mov (%rbx), %rax", 400, 104),
        ("mov some(%rip), %rbp", 400, 104),
        ("mov %rax, (%rbx)", 400, 100),
        ("add (%rbx), %rcx", 100, 500),  # the address, too, as if it was not known ahead
        ("lea 8(%rax,%rbx), %rax", 100, 100),
        ("xor %eax, %eax; imul %rax, %rax", 200, 103),
        ("sub %r8, %r8; imul %r8, %r8", 200, 103),
        ("xor %ebx, %eax", 100, 100),
        ("xor %edx, %edx; div %rcx", 20, 300),
        ("push %rbx; pop %rbx", 200, 104),
        ("movzbl %al, %eax; bswap %rax; popcnt %rax, %rax", 50, 250),
        ("shl %cl, %rax; neg %rax; cmovz %rbx, %rax; sete %al", 50, 200),
        ("cmp %rax, %rbx; test %rax, %rax; bt $3, %rax; cmp $4, %eax", 100, 100),
        ("xadd %rax, %rbx; xchg %rcx, %rbx; cmpxchg %rdx, %rcx", 30, 90),
        ("movabs $0x1234567812345678, %rax; cltq; cqto", 200, 151),
    ],
)
def test_what_waits_for_operands_takes_their_cycles(
    program: Path, tmp_path: Path, code: str, times: int, expected: int
) -> None:
    text = f".rept {times}\n{code.replace(';', chr(10))}\n.endr\n"
    assert cycles(program, tmp_path, text) == pytest.approx(expected, abs=3)


def test_what_comes_before_and_after_goes_on_meanwhile_as_far_as_the_window_reaches(
    program: Path, tmp_path: Path
) -> None:
    chain, others = ".rept 100\nimul %rax, %rax\n.endr\n", ".rept {}\nnop\n.endr\n"
    alone = cycles(program, tmp_path, chain)
    assert cycles(program, tmp_path, chain + others.format(400)) == alone
    more = cycles(program, tmp_path, chain + others.format(1400))
    assert more - alone == pytest.approx((1400 - 512) / 4, abs=2)
    late = cycles(program, tmp_path, others.format(400) + chain)
    assert late == pytest.approx(100 + alone, abs=2)
