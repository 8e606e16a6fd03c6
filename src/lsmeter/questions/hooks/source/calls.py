# SPDX-License-Identifier: GPL-2.0-or-later
"""Which of the system calls that are analysed an architecture has, by its table; pure."""

from __future__ import annotations

import re

from lsmeter.core.model.arch import Arch
from lsmeter.questions.hooks.source.rules import SYSCALLS

_ROW = re.compile(r"^\d+[ \t]+(\w+)[ \t]+\w+[ \t]+sys_(\w+)", re.MULTILINE)
_IN_HEADER = re.compile(r"\bsys_(\w+)")


def calls_of(arch: Arch, path: str, table: str) -> tuple[str, ...]:
    """Return those of the architecture: of a .tbl file, or of a header that lists them."""
    if path.endswith(".h"):
        known = set(_IN_HEADER.findall(table))
    else:
        known = {name for abi, name in _ROW.findall(table) if abi in arch.call_abis}
    return tuple(name for name in SYSCALLS if name in known)
