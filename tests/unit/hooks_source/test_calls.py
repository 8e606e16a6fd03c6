# SPDX-License-Identifier: GPL-2.0-or-later
"""The system calls that are analysed are those of the architecture that was asked for."""

from __future__ import annotations

import pytest

from lsmeter.core.errors import UsageError
from lsmeter.questions.hooks.source.analysis import analyse
from lsmeter.questions.hooks.source.config import Config
from tests.unit.hooks_source.conftest import Writer

BOTH = ("alpha", "beta")
TABLES = {
    "scripts/syscall.tbl": "56\tcommon\topenat\tsys_openat\n5\t32\topen\tsys_open\n",
    "include/uapi/asm-generic/unistd.h": "__SYSCALL(__NR_openat, sys_openat)\n",
}


@pytest.mark.parametrize("path", TABLES)
def test_calls_are_those_of_an_architecture(tree: Writer, path: str) -> None:
    root = tree(**{path: TABLES[path], "fs/more.c": "SYSCALL_DEFINE1(openat, int, a)\n{\n}\n"})
    names = {one.syscall for one in analyse(root, cache=False, filesystems=BOTH).syscalls}
    assert {"open", "openat"} <= names
    of_arm64 = analyse(root, cache=False, filesystems=BOTH, config=Config(arch="arm64"))
    assert {one.syscall for one in of_arm64.syscalls} == {"openat"}
    assert any("arm64 does not have: access, chdir" in problem for problem in of_arm64.problems)
    with pytest.raises(UsageError, match=r"no table of the system calls of x86_64: arch/x86/.*tbl"):
        analyse(root, cache=False, filesystems=BOTH, config=Config(arch="x86_64"))


def test_the_configuration_names_an_architecture_with_calls_of_its_own() -> None:
    assert Config({"ARM64": "y"}).own_arch == "arm64"
    assert Config({"X86_64": "y"}).own_arch == Config().own_arch == ""
