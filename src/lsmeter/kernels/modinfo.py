# SPDX-License-Identifier: GPL-2.0-or-later
"""What a module's file says of itself: its .modinfo section, as kmod reads it."""

from __future__ import annotations

import io
import struct

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile

from lsmeter.kernels.modules import ModuleInfo, canonical

# pyelftools does not check all that it reads; what a damaged file brings up varies.
ELF_DAMAGE = (
    *(ELFError, ConstructError, ValueError, KeyError, IndexError, AttributeError),
    *(TypeError, AssertionError, OverflowError, MemoryError, struct.error),
)


def read_modinfo(content: bytes) -> ModuleInfo:
    """Read the dependencies out of an unpacked module. Raises ValueError when it is damaged."""
    try:
        section = ELFFile(io.BytesIO(content)).get_section_by_name(".modinfo")
        data = section.data() if section else b""
    except ELF_DAMAGE as error:
        raise ValueError(f"damaged module: {error}") from error
    depends: list[str] = []
    softdeps: list[str] = []
    for entry in data.decode(errors="replace").split("\0"):
        key, _, value = entry.partition("=")
        if key == "depends":
            depends += [canonical(name) for name in value.split(",") if name]
        elif key == "softdep":
            softdeps += _pre(value)
    return ModuleInfo(tuple(depends), tuple(softdeps))


def _pre(softdep: str) -> list[str]:
    """Take the names after "pre:" of `pre: a b post: c`."""
    names: list[str] = []
    taking = False
    for word in softdep.split():
        if word.endswith(":"):
            taking = word == "pre:"
        elif taking:
            names.append(canonical(word))
    return names
